// Where the verbs of mining put what they have found.
#pragma once

#include <string>
#include <vector>

#include "tabane/program/output.h"
#include "tabane/tools/mine/outcome.h"

namespace tabane::program {

struct MineOutput {
  std::string itemsets, rules;  // files of CSV; empty: none
  JsonOption json;
  bool quiet = false;

  // --itemsets, --rules, --json and -q.
  std::vector<Option> rows();
  // throws: core::UsageError if a file cannot be written.
  void check() const;
  // throws: core::SystemError.
  void write(const mine::Outcome& outcome) const;

 private:
  bool stdout_is_taken() const;
};

}  // namespace tabane::program
