#include "tabane/studies/process_thread/malloc_map/problem.h"

#include <fmt/format.h>

#include "tabane/core/error.h"

namespace tabane::malloc_map {
namespace {

template <class T>
void require(bool legal, const char* what, const T& value, const char* range) {
  if (!legal) throw core::UsageError(fmt::format("{} {}: use {}", what, value, range));
}

// Also refuses what is no number.
void require_share(const char* what, double share) {
  require(share >= 0 && share <= 1, what, share, "0 to 1");
}

constexpr std::size_t kMostChunk = std::size_t{1} << 31;

}  // namespace

void check(const AllocateProblem& problem) {
  require_share("share of large chunks", problem.large_share);
  require(problem.kept > 0 && problem.kept <= 1'000'000, "chunks kept", problem.kept,
          "1 to 1000000");
  require(problem.most_small_bytes >= 16 && problem.most_small_bytes <= kMostChunk,
          "small chunks of", problem.most_small_bytes, "16 bytes to 2 GiB");
  require(problem.least_large_bytes >= 1 && problem.least_large_bytes <= problem.most_large_bytes &&
              problem.most_large_bytes <= kMostChunk,
          "large chunks of", problem.least_large_bytes, "1 byte to the largest, at most 2 GiB");
}

void check(const InsertProblem& problem) { require_share("share of new keys", problem.new_share); }

void check(const CorpusProblem& problem) {
  require(problem.vocabulary >= 1 && problem.vocabulary <= 10'000'000, "vocabulary",
          problem.vocabulary, "1 to 10000000 words");
}

}  // namespace tabane::malloc_map
