// The options that the verbs of mining share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tabane/workloads/fhe_mining/mine.h"

namespace tabane::cli {

// What is looked for.
struct MineOptions {
  std::optional<double> min_support;
  double min_confidence = 0.5;
  std::size_t max_length = 3;

  void add_to(CLI::App& verb);
  // throws: core::UsageError if --min-support is missing.
  workloads::fhe_mining::MineRequest request(const std::string& file) const;
};

// How it is encrypted.
struct SchemeOptions {
  bool hide_slots = false, allow_insecure = false;
  std::size_t degree = 0;

  std::vector<CLI::Option*> add_to(CLI::App& verb);
  void fill(workloads::fhe_mining::MineRequest& request) const;
};

// Who counts.
struct WorkerOptions {
  int processes = 0, threads = 0;

  void add_to(CLI::App& verb);
  void add_threads_to(CLI::App& verb);
  void fill(workloads::fhe_mining::MineRequest& request) const;
};

// Says on stderr, where that is a terminal, what is being counted.
void show_counting(std::size_t length, std::size_t candidates);

}  // namespace tabane::cli
