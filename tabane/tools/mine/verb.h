// The options and the output that the verbs of mining share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tabane/program/args.h"
#include "tabane/program/output.h"
#include "tabane/tools/mine/mine.h"
#include "tabane/tools/mine/results.h"

namespace tabane::program {

// The itemsets and rules to look for.
struct ItemsetOptions {
  std::optional<double> min_support;
  double min_confidence = 0.5;
  std::optional<std::size_t> max_length;

  // if_none: the default of --max-length, as help says it.
  std::vector<Option> rows(const std::string& if_none = "3");
  // Without --max-length most_length is if_none. throws: core::UsageError if --min-support is
  // missing.
  mine::MineRequest request(const std::string& file, std::size_t if_none = 3) const;
};

// The keys.
struct KeyOptions {
  bool hide_slots = false, allow_insecure = false;
  std::size_t degree = 0;

  std::vector<Option> rows();
  void fill(mine::MineRequest& request) const;
};

// The processes and threads that count.
struct WorkerOptions {
  int processes = 0, threads = 0;

  std::vector<Option> rows();
  Option threads_row();
  void fill(mine::MineRequest& request) const;
  // throws: core::UsageError if -p is given, though ranks count with threads only.
  void check_for_ranks() const;
};

// Shows on stderr, if that is a terminal, what is being counted.
void show_counting(std::size_t length, std::size_t candidates);

struct MineOutput {
  std::string itemsets, rules;  // files of CSV; empty: none
  JsonOption json;
  bool quiet = false;

  // --itemsets, --rules, --json and -q.
  std::vector<Option> rows();
  // throws: core::UsageError if a file cannot be written.
  void check() const;
  // throws: core::SystemError.
  void write(const mine::MineResult& result) const;

 private:
  bool stdout_is_taken() const;
};

}  // namespace tabane::program
