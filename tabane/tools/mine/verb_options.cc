#include "tabane/tools/mine/verb_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "tabane/core/error.h"
#include "tabane/program/printable.h"
#include "tabane/tools/mine/apriori.h"

namespace tabane::program {

std::vector<Option> MineOptions::rows(const std::string& if_none) {
  return {{"--min-support X", &min_support,
           "Find itemsets in at least this share of the transactions, more than 0 and at most 1; "
           "0.02 is 2 %"},
          {"--max-length N",
           &max_length,
           "Find itemsets of at most N items (default " + if_none +
               "); more take larger parameters at each doubling beyond 2",
           {.range = {1, mine::kLongestItemset}}},
          {"--min-confidence X", &min_confidence,
           "Give the rules that hold in at least this share of the cases (default 0.5)"}};
}

mine::MineRequest MineOptions::request(const std::string& file, std::size_t if_none) const {
  if (!min_support) {
    throw core::UsageError(
        "--min-support is missing: 0.02 asks for itemsets in 2 % of the transactions");
  }
  mine::MineRequest request;
  request.database = file;
  request.min_support = *min_support;
  request.most_length = max_length.value_or(if_none);
  request.min_confidence = min_confidence;
  return request;
}

std::vector<Option> SchemeOptions::rows() {
  return {
      {"--hide-slots", &hide_slots,
       "Let the server sum each count under encryption, so that only totals can be decrypted; "
       "takes larger parameters and rotations"},
      {"--ring-degree N", &degree,
       "The degree of the ring, a power of two (default: the least that is secure and suffices)"},
      {"--insecure-parameters", &allow_insecure,
       "Take a ring degree with less than 128 bits of security; every output is marked"}};
}

void SchemeOptions::fill(mine::MineRequest& request) const {
  request.hide_slots = hide_slots;
  request.allow_insecure = allow_insecure;
  request.degree = degree;
}

Option WorkerOptions::threads_row() {
  return {"-t,--threads N",
          &threads,
          "Use N threads in each process (default: as many as suit the work)",
          {.range = {1, 4096}}};
}

std::vector<Option> WorkerOptions::rows() {
  return {threads_row(),
          {"-p,--processes N",
           &processes,
           "Count with N processes that share the database copy-on-write (default: as many as suit "
           "the work)",
           {.range = {1, 4096}}}};
}

void WorkerOptions::fill(mine::MineRequest& request) const {
  request.processes = processes;
  request.threads = threads;
}

void WorkerOptions::check_for_ranks() const {
  if (processes == team::automatic) return;
  throw core::UsageError(
      "-p: ranks take the place of processes, and each counts with threads (-t)");
}

void show_counting(std::size_t length, std::size_t candidates) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "counting {} candidates of {} {}\n", grouped(candidates), length,
             length == 1 ? "item" : "items");
}

}  // namespace tabane::program
