// malloc and free of small and large chunks, touching every page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/studies/process_thread/malloc_map/problem.h"
#include "tabane/team/team.h"

namespace tabane::malloc_map {

struct AllocateTotals {
  std::uint64_t bytes = 0;  // asked for
  std::uint64_t pages = 0;  // touched
  std::uint64_t marks = 0;  // sum of the bytes that were written to the pages and found there again
  bool operator==(const AllocateTotals&) const = default;
};

// Does one task. throws: std::bad_alloc.
AllocateTotals allocate_task(const AllocateProblem& problem, std::size_t task);

// The totals of all tasks, in order. throws: core::UsageError as check(); as Team::map().
std::vector<AllocateTotals> allocate(team::Team& team, const AllocateProblem& problem);

// Plays the same requests without memory: if every mark was found again, no chunk overlapped
// another and no write was lost. throws: core::VerificationError naming the first task that
// differs.
void verify(const AllocateProblem& problem, std::span<const AllocateTotals> totals);

}  // namespace tabane::malloc_map
