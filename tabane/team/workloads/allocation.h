// Allocation-heavy work for teams: malloc and free of small and large chunks, touching every page;
// insertion into std::map with a given share of new keys, where 10 % is like counting words, 100 %
// like checking IDs for duplicates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/core/random.h"
#include "tabane/team/team.h"

namespace tabane::workloads {

// ---- malloc and free ----

// Each task frees and allocates chunks, keeps a few of them, and touches every page of each.
struct AllocateProblem {
  std::size_t tasks = 64;
  std::size_t requests = 1000;          // of a task
  double large_share = 0;               // of the requests, 0 … 1
  std::size_t kept = 16;                // chunks that a task holds at once
  std::size_t most_small_bytes = 4096;  // small: 16 bytes … this
  std::size_t least_large_bytes = std::size_t{256} << 10;
  std::size_t most_large_bytes = std::size_t{1} << 20;
  std::uint64_t seed = 1;
};

struct AllocateTotals {
  std::uint64_t bytes = 0;  // asked for
  std::uint64_t pages = 0;  // touched
  std::uint64_t marks = 0;  // sum of the bytes that were written to the pages and found there again
  bool operator==(const AllocateTotals&) const = default;
};

// throws: core::UsageError naming the number that cannot be, and the legal ones.
void check(const AllocateProblem& problem);

// Does one task. throws: std::bad_alloc.
AllocateTotals allocate_task(const AllocateProblem& problem, std::size_t task);

// The totals of all tasks, in order. throws: core::UsageError as check(); as Team::map().
std::vector<AllocateTotals> allocate(team::Team& team, const AllocateProblem& problem);

// Plays the same requests without memory: if every mark was found again, no chunk overlapped
// another and no write was lost. throws: core::VerificationError naming the first task that
// differs.
void verify(const AllocateProblem& problem, std::span<const AllocateTotals> totals);

// ---- insertion ----

// Each task inserts into a std::map of its own.
struct InsertProblem {
  std::size_t tasks = 64;
  std::size_t inserts = 10'000;  // of a task
  double new_share = 1;          // of the inserts, 0 … 1: the rest meets a key that is there
  std::uint64_t seed = 1;

  // Keys that a task's map holds after k inserts, each of which took a call of malloc: the new ones
  // come at even distances, the first insert always brings one.
  std::size_t distinct_after(std::size_t k) const {
    const auto even = static_cast<std::size_t>(static_cast<double>(k) * new_share);
    return k == 0 ? 0 : std::max<std::size_t>(even, 1);
  }
};

struct InsertTotals {
  std::uint64_t distinct = 0;  // keys in the map
  std::uint64_t digest = 0;    // sum over keys of key times number of inserts, modulo 2^64
  bool operator==(const InsertTotals&) const = default;
};

// As for the others.
void check(const InsertProblem& problem);

// Calls use(key) for each insert of a task in turn.
template <class Use>
void for_each_key(const InsertProblem& problem, std::size_t task, Use use) {
  core::SplitMix64 random(problem.seed, task);
  const std::uint64_t first = random.next();
  std::uint64_t known = 0;
  for (std::size_t k = 0; k < problem.inserts; ++k) {
    const bool fresh = problem.distinct_after(k + 1) > known;
    // mix() is a bijection: different indices are different keys.
    use(core::mix(first + (fresh ? known : random.below(known))));
    known += fresh;
  }
}

// Builds the map of one task and counts the inserts of each key in it.
InsertTotals insert_task(const InsertProblem& problem, std::size_t task);

// The totals of all tasks, in order. throws: core::UsageError as check(); as Team::map().
std::vector<InsertTotals> insert(team::Team& team, const InsertProblem& problem);

// Compares with the closed form of the number of keys and a digest made without a map: the digest
// is linear, so the keys' order and number in a map do not enter it.
// throws: core::VerificationError naming the first task that differs.
void verify(const InsertProblem& problem, std::span<const InsertTotals> totals);

}  // namespace tabane::workloads
