#include "tabane/team/workloads/allocation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <new>

#include "tabane/core/error.h"

namespace tabane::workloads {
namespace {

template <class T>
void require(bool legal, const char* what, const T& value, const char* range) {
  if (!legal) throw core::UsageError("{} {}: use {}", what, value, range);
}

// throws: core::VerificationError naming the first task whose totals are not the expected ones.
template <class Problem, class Totals>
void verify_tasks(const Problem& problem, std::span<const Totals> totals, const char* results,
                  Totals (*expected)(const Problem& problem, std::size_t task)) {
  if (totals.size() != problem.tasks)
    throw core::VerificationError("tasks with a result", static_cast<double>(totals.size()),
                                  static_cast<double>(problem.tasks));
  for (std::size_t task = 0; task < totals.size(); ++task) {
    if (totals[task] != expected(problem, task))
      throw core::VerificationError(fmt::format("{} of task {}", results, task), 1, 0);
  }
}

// ---- malloc and free ----

constexpr std::size_t kPageBytes = 4096;  // what the touching steps by

constexpr std::size_t pages_of(std::size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

struct ChunkRequest {
  std::size_t slot = 0;   // of the chunk that makes way
  std::size_t bytes = 0;  // of the new one
  std::uint8_t mark = 0;  // of its first page; goes up by one a page
};

// Calls use(request) for each request of a task in turn. Returns totals without marks.
template <class Use>
AllocateTotals for_each_request(const AllocateProblem& problem, std::size_t task, Use use) {
  core::SplitMix64 random(problem.seed, task);
  AllocateTotals totals;
  for (std::size_t k = 0; k < problem.requests; ++k) {
    ChunkRequest request{.slot = random.below(problem.kept)};
    const bool large = random.unit() < problem.large_share;
    const std::size_t least = large ? problem.least_large_bytes : 16;
    const std::size_t most = large ? problem.most_large_bytes : problem.most_small_bytes;
    request.bytes = least + random.below(most - least + 1);
    request.mark = static_cast<std::uint8_t>(random.next());
    totals.bytes += request.bytes;
    totals.pages += pages_of(request.bytes);
    use(request);
  }
  return totals;
}

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

AllocateTotals expected(const AllocateProblem& problem, std::size_t task) {
  std::uint64_t marks = 0;
  AllocateTotals totals = for_each_request(problem, task, [&](const ChunkRequest& request) {
    for (std::size_t page = 0; page < pages_of(request.bytes); ++page)
      marks += static_cast<std::uint8_t>(request.mark + page);
  });
  totals.marks = marks;
  return totals;
}

}  // namespace

void check(const AllocateProblem& problem) {
  constexpr std::size_t kMostChunk = std::size_t{1} << 31;
  // Also refuses what is no number.
  require(problem.large_share >= 0 && problem.large_share <= 1, "share of large chunks",
          problem.large_share, "0 to 1");
  require(problem.kept > 0 && problem.kept <= 1'000'000, "chunks kept", problem.kept,
          "1 to 1000000");
  require(problem.most_small_bytes >= 16 && problem.most_small_bytes <= kMostChunk,
          "small chunks of", problem.most_small_bytes, "16 bytes to 2 GiB");
  require(problem.least_large_bytes >= 1 && problem.least_large_bytes <= problem.most_large_bytes &&
              problem.most_large_bytes <= kMostChunk,
          "large chunks of", problem.least_large_bytes, "1 byte to the largest, at most 2 GiB");
}

AllocateTotals allocate_task(const AllocateProblem& problem, std::size_t task) {
  std::vector<Chunk> chunks(problem.kept);
  std::uint64_t marks = 0;
  AllocateTotals totals = for_each_request(problem, task, [&](const ChunkRequest& request) {
    Chunk& chunk = chunks[request.slot];
    marks += chunk.marks();
    chunk = Chunk();
    chunk = Chunk(request);
  });
  for (const Chunk& chunk : chunks) marks += chunk.marks();
  totals.marks = marks;
  return totals;
}

std::vector<AllocateTotals> allocate(team::Team& team, const AllocateProblem& problem) {
  check(problem);
  return team.map<AllocateTotals>(problem.tasks,
                                  [&](std::size_t task) { return allocate_task(problem, task); });
}

void verify(const AllocateProblem& problem, std::span<const AllocateTotals> totals) {
  verify_tasks(problem, totals, "marks in the chunks", expected);
}

// ---- insertion ----

namespace {

InsertTotals expected(const InsertProblem& problem, std::size_t task) {
  InsertTotals totals{.distinct = problem.distinct_after(problem.inserts)};
  for_each_key(problem, task, [&](std::uint64_t key) { totals.digest += key; });
  return totals;
}

}  // namespace

void check(const InsertProblem& problem) {
  require(problem.new_share >= 0 && problem.new_share <= 1, "share of new keys", problem.new_share,
          "0 to 1");
}

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
  verify_tasks(problem, totals, "keys in the map", expected);
}

}  // namespace tabane::workloads
