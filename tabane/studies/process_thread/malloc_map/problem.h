// The allocation-heavy problems: malloc and free, insertion into std::map, counting words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tabane::malloc_map {

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

// Each task inserts into a std::map of its own.
struct InsertProblem {
  std::size_t tasks = 64;
  std::size_t inserts = 10'000;  // of a task
  double new_share = 1;          // of the inserts, 0 … 1: the rest meets a key that is there
  std::uint64_t seed = 1;
};

// Text with the word frequencies of natural language (Zipf): rank r has weight 1 / r.
struct CorpusProblem {
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint32_t vocabulary = 50'000;  // different words, at most
  std::uint64_t seed = 1;
};

// What counts as a word.
enum class WordRule {
  letters,     // [A-Za-z]+, lower-cased: "Don't" is "don" and "t"
  whitespace,  // whatever stands between white space, as it is
};

// Throw core::UsageError naming the number that cannot be, and the legal ones.
void check(const AllocateProblem& problem);
void check(const InsertProblem& problem);
void check(const CorpusProblem& problem);

}  // namespace tabane::malloc_map
