// A program of its own: it counts what the whole process allocates.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"

namespace {

std::atomic<std::size_t> allocations = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
// Inlined, the compiler takes them for free() of what operator new gave.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tabane::comm {
namespace {

constexpr int kCalls = 100;

// Of this rank, in kCalls calls of `f` after as many: the least of three times, since a rank that
// is stopped longer than ever before needs more room for what has come, once.
std::size_t allocations_in(const std::function<void()>& f) {
  std::size_t least = SIZE_MAX;
  for (int time = 0; time < 4; ++time) {
    const std::size_t before = allocations;
    for (int i = 0; i < kCalls; ++i) f();
    if (time > 0) least = std::min(least, allocations - before);
  }
  return least;
}

void require_at_most(std::size_t most, std::size_t taken, const char* what) {
  if (taken <= most) return;
  throw core::Error(std::string(what) + ": " + std::to_string(taken) + " allocations");
}

TEST(NonBlockingAllocations, SmallCallsTakeNoneOnceTheGroupHasItsMemory) {
  for (const int ranks : {1, 2, 5}) {
    launch({.ranks = ranks, .transport = TransportKind::shm}, [](Comm& comm) {
      std::vector<double> values(6);
      const std::size_t of_sums =
          allocations_in([&] { iall_reduce(comm, values, Operation::sum).wait(); });
      require_at_most(0, of_sums, "sums");
      require_at_most(0, allocations_in([&] { ibarrier(comm).wait(); }), "barriers");
    });
  }
}

TEST(NonBlockingAllocations, SeveralAtOnceTakeNoneEither) {
  launch({.ranks = 3, .transport = TransportKind::shm}, [](Comm& comm) {
    std::vector<std::vector<int>> values(20, std::vector<int>(2));
    std::vector<Request> sums;
    sums.reserve(values.size());
    const auto call = [&] {
      for (auto& one : values) sums.push_back(iall_reduce(comm, one, Operation::max));
      wait_all(sums);
      sums.clear();
    };
    require_at_most(0, allocations_in(call), "sums at once");
  });
}

// The transport's: three for a message that is sent and one that is received, and two more where it
// came before its receive, as nearly all do where ranks are slow.
TEST(NonBlockingAllocations, LargerCallsTakeOnlyThoseOfTheirMessages) {
  launch({.ranks = 3, .transport = TransportKind::shm}, [](Comm& comm) {
    std::vector<double> values(100);
    const std::size_t taken =
        allocations_in([&] { iall_reduce(comm, values, Operation::sum).wait(); });
    const auto received = static_cast<std::size_t>(comm.size() - 1);
    require_at_most(5 * received * kCalls, taken, "larger sums");
  });
}

}  // namespace
}  // namespace tabane::comm
