// Insertion into std::map with a given share of new keys: 10 % is like counting words, 100 % like
// checking IDs for duplicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/studies/process_thread/malloc_map/problem.h"
#include "tabane/team/team.h"

namespace tabane::malloc_map {

struct InsertTotals {
  std::uint64_t distinct = 0;  // keys in the map
  std::uint64_t digest = 0;    // sum over keys of key times number of inserts, modulo 2^64
  bool operator==(const InsertTotals&) const = default;
};

// Calls use(key) for each insert of a task in turn.
template <class Use>
void for_each_key(const InsertProblem& problem, std::size_t task, Use use);

// Builds the map of one task and counts the inserts of each key in it.
InsertTotals insert_task(const InsertProblem& problem, std::size_t task);

// The totals of all tasks, in order. throws: core::UsageError as check(); as Team::map().
std::vector<InsertTotals> insert(team::Team& team, const InsertProblem& problem);

// Compares with the closed form of the number of keys and a digest made without a map: the digest
// is linear, so the keys' order and number in a map do not enter it.
// throws: core::VerificationError naming the first task that differs.
void verify(const InsertProblem& problem, std::span<const InsertTotals> totals);

}  // namespace tabane::malloc_map

#include "tabane/studies/process_thread/malloc_map/model.h"
#include "tabane/studies/process_thread/malloc_map/random.h"

namespace tabane::malloc_map {

template <class Use>
void for_each_key(const InsertProblem& problem, std::size_t task, Use use) {
  Random random(problem.seed, task);
  const std::uint64_t first = random.next();
  std::uint64_t known = 0;
  for (std::size_t k = 0; k < problem.inserts; ++k) {
    const bool fresh = distinct_after(problem, k + 1) > known;
    // mix() is a bijection: different indices are different keys.
    use(mix(first + (fresh ? known : random.below(known))));
    known += fresh;
  }
}

}  // namespace tabane::malloc_map
