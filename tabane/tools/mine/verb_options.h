// The options that the verbs of mining share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tabane/program/args.h"
#include "tabane/tools/mine/mine.h"

namespace tabane::program {

// What is looked for.
struct MineOptions {
  std::optional<double> min_support;
  double min_confidence = 0.5;
  std::optional<std::size_t> max_length;

  // if_none: what is taken without --max-length, as help says it.
  std::vector<Option> rows(const std::string& if_none = "3");
  // Without --max-length most_length is if_none. throws: core::UsageError if --min-support is
  // missing.
  mine::MineRequest request(const std::string& file, std::size_t if_none = 3) const;
};

// How it is encrypted.
struct SchemeOptions {
  bool hide_slots = false, allow_insecure = false;
  std::size_t degree = 0;

  std::vector<Option> rows();
  void fill(mine::MineRequest& request) const;
};

// Who counts.
struct WorkerOptions {
  int processes = 0, threads = 0;

  std::vector<Option> rows();
  Option threads_row();
  void fill(mine::MineRequest& request) const;
  // throws: core::UsageError if -p is given, though ranks count with threads only.
  void check_for_ranks() const;
};

// Says on stderr, where that is a terminal, what is being counted.
void show_counting(std::size_t length, std::size_t candidates);

}  // namespace tabane::program
