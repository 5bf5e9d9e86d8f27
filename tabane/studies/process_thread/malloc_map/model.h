// What the problems do, as functions of their sizes: requests, new keys, pieces.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tabane/studies/process_thread/malloc_map/problem.h"

namespace tabane::malloc_map {

inline constexpr std::size_t kPageBytes = 4096;  // what the touching steps by

constexpr std::size_t pages_of(std::size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

// Bytes that a task asks for, on average: sizes are drawn evenly.
inline double mean_allocated_bytes(const AllocateProblem& p) {
  const double small = 0.5 * (16 + static_cast<double>(p.most_small_bytes));
  const double large =
      0.5 * (static_cast<double>(p.least_large_bytes) + static_cast<double>(p.most_large_bytes));
  return static_cast<double>(p.requests) * (small + p.large_share * (large - small));
}

// Keys that a task's map holds after k inserts: the new ones come at even distances, the first
// insert always brings one.
inline std::size_t distinct_after(const InsertProblem& p, std::size_t k) {
  if (k == 0) return 0;
  const auto even = static_cast<std::size_t>(std::floor(static_cast<double>(k) * p.new_share));
  return even > 1 ? even : 1;
}

// Calls of malloc of an insert task: a node for each new key.
inline std::size_t nodes(const InsertProblem& p) { return distinct_after(p, p.inserts); }

// Pieces of a text; the last words of a piece reach over its end, so their sizes vary.
constexpr std::size_t pieces_of(std::size_t bytes, std::size_t piece_bytes) {
  return (bytes + piece_bytes - 1) / piece_bytes;
}

}  // namespace tabane::malloc_map
