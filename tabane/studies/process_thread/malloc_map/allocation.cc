#include "tabane/studies/process_thread/malloc_map/allocation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>

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

// ---- malloc and free ----

namespace {

struct ChunkRequest {
  std::size_t slot = 0;   // of the chunk that makes way
  std::size_t bytes = 0;  // of the new one
  std::uint8_t mark = 0;  // of its first page; goes up by one a page
};

class ChunkRequests {
 public:
  ChunkRequests(const AllocateProblem& problem, std::size_t task)
      : problem_(problem), random_(problem.seed, task) {}

  ChunkRequest next() {
    ChunkRequest request;
    request.slot = random_.below(problem_.kept);
    const bool large = random_.unit() < problem_.large_share;
    const std::size_t least = large ? problem_.least_large_bytes : 16;
    const std::size_t most = large ? problem_.most_large_bytes : problem_.most_small_bytes;
    request.bytes = least + random_.below(most - least + 1);
    request.mark = static_cast<std::uint8_t>(random_.next());
    return request;
  }

 private:
  const AllocateProblem& problem_;
  core::SplitMix64 random_;
};

class Chunk {
 public:
  Chunk() = default;
  explicit Chunk(const ChunkRequest& request)
      : bytes_(request.bytes), memory_(static_cast<std::uint8_t*>(std::malloc(request.bytes))) {
    if (!memory_) throw std::bad_alloc();
    // volatile: a compiler may drop an allocation that nobody reads.
    volatile std::uint8_t* at = memory_.get();
    for (std::size_t page = 0; page < pages_of(bytes_); ++page)
      at[page * kPageBytes] = static_cast<std::uint8_t>(request.mark + page);
  }

  std::uint64_t marks() const {
    std::uint64_t sum = 0;
    const volatile std::uint8_t* at = memory_.get();
    for (std::size_t page = 0; page < pages_of(bytes_); ++page) sum += at[page * kPageBytes];
    return sum;
  }

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };
  std::size_t bytes_ = 0;
  std::unique_ptr<std::uint8_t, Free> memory_;
};

void add(AllocateTotals& totals, const ChunkRequest& request) {
  totals.bytes += request.bytes;
  totals.pages += pages_of(request.bytes);
}

AllocateTotals expected(const AllocateProblem& problem, std::size_t task) {
  AllocateTotals totals;
  ChunkRequests requests(problem, task);
  for (std::size_t k = 0; k < problem.requests; ++k) {
    const ChunkRequest request = requests.next();
    add(totals, request);
    for (std::size_t page = 0; page < pages_of(request.bytes); ++page)
      totals.marks += static_cast<std::uint8_t>(request.mark + page);
  }
  return totals;
}

InsertTotals expected(const InsertProblem& problem, std::size_t task) {
  InsertTotals totals{.distinct = distinct_after(problem, problem.inserts)};
  for_each_key(problem, task, [&](std::uint64_t key) { totals.digest += key; });
  return totals;
}

template <class Problem, class Totals>
void verify_tasks(const Problem& problem, std::span<const Totals> totals, const char* work,
                  const char* results) {
  if (totals.size() != problem.tasks)
    throw core::VerificationError(fmt::format("tasks of {} with a result", work),
                                  static_cast<double>(totals.size()),
                                  static_cast<double>(problem.tasks));
  for (std::size_t task = 0; task < totals.size(); ++task) {
    if (totals[task] != expected(problem, task))
      throw core::VerificationError(fmt::format("{} of task {}", results, task), 1, 0);
  }
}

}  // namespace

AllocateTotals allocate_task(const AllocateProblem& problem, std::size_t task) {
  AllocateTotals totals;
  ChunkRequests requests(problem, task);
  std::vector<Chunk> chunks(problem.kept);
  for (std::size_t k = 0; k < problem.requests; ++k) {
    const ChunkRequest request = requests.next();
    Chunk& chunk = chunks[request.slot];
    totals.marks += chunk.marks();
    chunk = Chunk();
    chunk = Chunk(request);
    add(totals, request);
  }
  for (const Chunk& chunk : chunks) totals.marks += chunk.marks();
  return totals;
}

std::vector<AllocateTotals> allocate(team::Team& team, const AllocateProblem& problem) {
  check(problem);
  return team.map<AllocateTotals>(problem.tasks,
                                  [&](std::size_t task) { return allocate_task(problem, task); });
}

void verify(const AllocateProblem& problem, std::span<const AllocateTotals> totals) {
  verify_tasks(problem, totals, "malloc and free", "marks in the chunks");
}

// ---- insertion ----

InsertTotals insert_task(const InsertProblem& problem, std::size_t task) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for_each_key(problem, task, [&](std::uint64_t key) { ++counts[key]; });
  InsertTotals totals{.distinct = counts.size()};
  for (const auto& [key, count] : counts) totals.digest += key * count;
  return totals;
}

std::vector<InsertTotals> insert(team::Team& team, const InsertProblem& problem) {
  check(problem);
  return team.map<InsertTotals>(problem.tasks,
                                [&](std::size_t task) { return insert_task(problem, task); });
}

void verify(const InsertProblem& problem, std::span<const InsertTotals> totals) {
  verify_tasks(problem, totals, "insertion", "keys in the map");
}

}  // namespace tabane::malloc_map
