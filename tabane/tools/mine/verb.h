// The options and the output that the verbs of mining share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/program/args.h"
#include "tabane/program/output.h"
#include "tabane/tools/mine/mine.h"
#include "tabane/tools/mine/results.h"

namespace tabane::program {

// Rows that fill in which itemsets and rules to look for. if_none: the default of --max-length, as
// help says it.
std::vector<Option> itemset_rows(mine::MineRequest& request, const std::string& if_none = "3");
// Rows of keys, without their length and transactions.
std::vector<Option> key_rows(mine::KeySpec& keys);
std::vector<Option> worker_rows(mine::Workers& workers);
Option threads_row(mine::Workers& workers);
// throws: core::UsageError if -p is given, though ranks count with threads only.
void check_for_ranks(const mine::Workers& workers);

// As on_ranks(), for work in which the other ranks wait for rank 0.
int with_ranks(const std::function<void(comm::Comm* ranks)>& rank_0,
               const std::function<void(comm::Comm& ranks)>& other);

// For this process and those it forks: ciphertexts come and go, and malloc would ask the system for
// the memory of each anew, page by page.
void keep_freed_memory();

struct MineOutput {
  std::string itemsets, rules;  // files of CSV; empty: none
  JsonOption json;
  bool closed = false, maximal = false;
  bool quiet = false;

  // --itemsets, --closed, --maximal, --rules, --json and -q.
  std::vector<Option> rows();
  // throws: core::UsageError if a file cannot be written.
  void check() const;
  // throws: core::SystemError.
  void write(mine::MineResult result) const;
};

}  // namespace tabane::program
