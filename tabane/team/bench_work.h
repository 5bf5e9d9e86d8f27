// The tasks that teams and their peers do: arithmetic of a known length, and counting words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/served.h"
#include "tabane/core/error.h"
#include "tabane/team/workloads/words.h"

namespace tabane::bench {

// Returns a number of `task` after `rounds` of arithmetic that wait for each other, so that two
// threads of one core hardly slow each other. Reads no clock.
[[gnu::noinline]] inline std::uint64_t spin(std::uint64_t task, std::uint64_t rounds) {
  std::uint64_t x = task;
  for (std::uint64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005u + task;
  return x;
}

inline std::uint64_t fingerprint(const std::vector<std::uint64_t>& results) {
  std::uint64_t sum = results.size();
  for (const std::uint64_t result : results) sum = sum * 31 + result;
  return sum;
}

// The same for the same words, in whatever order the table has them.
template <class Table>
requires requires { typename Table::mapped_type; }
std::uint64_t fingerprint(const Table& table) {
  const auto all = workloads::digest(table);
  return all.sum + all.words + all.distinct;
}

// What a team that chose its shape answers.
enum Verdict : std::uint64_t { kNothingPredicted, kPredictionFailed, kPredictionHeld };

// Of the questions about teams that choose their shape for few tasks.
inline constexpr std::size_t kFewTasks[] = {1, 2, 3, 16};

// Adds work that has results, and under "check-VERB" the fingerprint of these.
template <class F>
void serve_results(std::map<std::string, Served>& work, const std::string& verb, F f) {
  work[verb] = repeated([f] {
    if (f().empty()) throw core::Error("no results");
  });
  work["check-" + verb] = [f](std::uint64_t) { return fingerprint(f()); };
}

}  // namespace tabane::bench
