#include "tabane/team/fork_cost.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <new>

#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/team/fork.h"
#include "tabane/team/memory_map.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace tabane::team {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kRegionBytes = 32 * kMiB;
constexpr std::size_t kRounds = 11;
constexpr std::size_t kHugeRounds = 31;  // what 16 huge pages add is small

PrivateMemory sum_of(const std::vector<Mapping>& map) {
  PrivateMemory memory;
  const std::size_t huge_page = core::huge_page_bytes();
  for (const Mapping& mapping : map) {
    // What children do not inherit costs nothing.
    if (!mapping.is_private || mapping.has_flag("dc")) continue;
    memory.huge_page_bytes += mapping.huge;
    memory.small_page_bytes += mapping.anonymous - std::min(mapping.huge, mapping.anonymous);
    memory.preparable_bytes += preparable_bytes(mapping, kLeastRegionBytes, huge_page);
  }
  return memory;
}

double pages(std::uint64_t bytes, std::size_t page) {
  return page == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(page);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The forks that are timed are made in a child that keeps large regions from its own children. They
// run no handlers that libraries registered for fork(), since these may touch such a region, and
// end at once. Failures are answers here, not exceptions.

// Seconds of a fork, the child's end and the wait; negative if the system refuses.
double time_bare_fork() {
  const auto begin = std::chrono::steady_clock::now();
  const long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) syscall(SYS_exit_group, 0);
  if (pid < 0) return -1;
  while (syscall(SYS_wait4, pid, nullptr, 0, nullptr) < 0 && errno == EINTR) {
  }
  return seconds_since(begin);
}

struct ForkTimes {
  double without = 0;  // median seconds of a fork that does not copy the region
  double added = 0;    // by copying the region
  bool done = false;
};

template <std::size_t rounds>
double median_of(std::array<double, rounds> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[rounds / 2];
}

template <std::size_t rounds>
ForkTimes time_forks(std::byte* region) {
  std::array<double, rounds> without{}, with{}, added{};
  for (std::size_t i = 0; i < rounds; ++i) {
    madvise(region, kRegionBytes, MADV_DONTFORK);
    without[i] = time_bare_fork();
    madvise(region, kRegionBytes, MADV_DOFORK);
    with[i] = time_bare_fork();
    if (without[i] < 0 || with[i] < 0) return {};
    added[i] = with[i] - without[i];
  }
  // Other work on the machine only lengthens a fork, so the shortest ones bound the difference
  // where the pairs are too disturbed to show it.
  const double least = *std::min_element(with.begin(), with.end()) -
                       *std::min_element(without.begin(), without.end());
  return {median_of(without), std::max(median_of(added), least), true};
}

// Seconds to put the region into huge pages; 0 if the system does not.
double time_collapse(std::byte* region) {
  madvise(region, kRegionBytes, MADV_HUGEPAGE);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    if (madvise(region, kRegionBytes, MADV_COLLAPSE) == 0) return seconds_since(begin);
    if (errno != EAGAIN) break;  // EAGAIN: pages were in use for a moment
  }
  return 0;
}

struct Calibration {
  ForkTimes small, huge;
  double collapse_seconds = 0;  // 0: the system does not collapse
};

Calibration calibrate() {
  Calibration result;
  const std::size_t huge_page = core::huge_page_bytes();
  const std::size_t reserved = kRegionBytes + huge_page;
  void* const base =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return result;
  void* aligned = base;
  std::size_t space = reserved;
  if (huge_page > 0) std::align(huge_page, kRegionBytes, aligned, space);
  auto* const region = static_cast<std::byte*>(aligned);
  madvise(region, kRegionBytes, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kRegionBytes; i += core::page_bytes()) {
    *static_cast<volatile std::byte*>(region + i) = std::byte{1};
  }
  result.small = time_forks<kRounds>(region);
  const double seconds = huge_page > 0 ? time_collapse(region) : 0;
  if (seconds > 0) {
    result.huge = time_forks<kHugeRounds>(region);
    result.collapse_seconds = seconds;
  }
  munmap(base, reserved);
  return result;
}

// Keeps the range from children, but for the surroundings of the calling thread's stack and its
// thread-local data, which may share a mapping with anything.
void set_aside(Range range) {
  const std::uintptr_t margin = 2 * kMiB;
  std::array<std::uintptr_t, 2> kept = {
      reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
      static_cast<std::uintptr_t>(pthread_self())};
  std::sort(kept.begin(), kept.end());
  const auto keep_out = [](std::uintptr_t begin, std::uintptr_t end) {
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTFORK);
  };
  const std::size_t page = core::page_bytes();
  for (const std::uintptr_t address : kept) {
    const std::uintptr_t low = (address - margin) / page * page;
    keep_out(range.begin, std::min(range.end, low));
    range.begin = std::max(range.begin, low + 2 * margin);
  }
  keep_out(range.begin, range.end);
}

bool can_be_set_aside(const Mapping& mapping) {
  // Reserved without backing: what sanitizers look up at every access lies in such regions.
  return preparable_range(mapping, kLeastRegionBytes, core::huge_page_bytes()).size() > 0 &&
         !mapping.has_flag("nr");
}

// A page that a child shares with this process.
class SharedCalibration {
 public:
  SharedCalibration()
      : page_(mmap(nullptr, sizeof(Calibration), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0)) {
    if (page_ == MAP_FAILED) throw core::SystemError("mmap", "a shared page", errno);
    new (page_) Calibration;
  }
  ~SharedCalibration() { munmap(page_, sizeof(Calibration)); }
  SharedCalibration(const SharedCalibration&) = delete;
  SharedCalibration& operator=(const SharedCalibration&) = delete;
  Calibration& operator*() const { return *static_cast<Calibration*>(page_); }

 private:
  void* page_;
};

}  // namespace

PrivateMemory private_memory() { return sum_of(own_memory_map()); }

ForkCosts measure_fork_costs() {
  std::vector<Mapping> others = own_memory_map(), aside;
  for (const Mapping& mapping : others) {
    if (can_be_set_aside(mapping)) aside.push_back(mapping);
  }
  std::erase_if(others, can_be_set_aside);
  const SharedCalibration shared;
  const int status = wait_for_child(fork_child([&] {
    for (const Mapping& mapping : aside) set_aside({mapping.begin, mapping.end});
    *shared = calibrate();
    return 0;
  }));
  const Calibration& result = *shared;
  if (status != 0 || !result.small.done) throw core::SystemError("fork", "a child process", EAGAIN);

  ForkCosts costs;
  const auto per_page = [](const ForkTimes& times, std::size_t page) {
    return std::max(0.0, times.added) / pages(kRegionBytes, page);
  };
  costs.small_page_seconds = per_page(result.small, core::page_bytes());
  if (result.huge.done) {
    // An entry is an entry: where the difference drowns, a huge page costs what a base page does.
    costs.huge_page_seconds =
        std::max(costs.small_page_seconds, per_page(result.huge, core::huge_page_bytes()));
    costs.prepare_seconds_per_byte = result.collapse_seconds / static_cast<double>(kRegionBytes);
  }
  const double of_others =
      costs.small_page_seconds * pages(sum_of(others).small_page_bytes, core::page_bytes());
  costs.fixed_seconds = std::max(0.0, result.small.without - of_others);
  return costs;
}

const ForkCosts& fork_costs() {
  static const ForkCosts costs = measure_fork_costs();
  return costs;
}

ForkEstimate estimate_fork(const PrivateMemory& memory, const ForkCosts& costs) {
  const auto seconds_of = [&](std::uint64_t small, std::uint64_t huge) {
    return costs.fixed_seconds + costs.small_page_seconds * pages(small, core::page_bytes()) +
           costs.huge_page_seconds.value_or(0) * pages(huge, core::huge_page_bytes());
  };
  ForkEstimate estimate;
  estimate.memory = memory;
  estimate.seconds = seconds_of(memory.small_page_bytes, memory.huge_page_bytes);
  estimate.prepared_seconds = estimate.seconds;
  if (!costs.huge_page_seconds || !costs.prepare_seconds_per_byte) return estimate;
  const std::uint64_t moved = std::min(memory.preparable_bytes, memory.small_page_bytes);
  estimate.prepared_seconds =
      seconds_of(memory.small_page_bytes - moved, memory.huge_page_bytes + moved);
  estimate.prepare_seconds = *costs.prepare_seconds_per_byte * static_cast<double>(moved);
  return estimate;
}

ForkEstimate estimate_fork() {
  const ForkCosts& costs = fork_costs();
  return estimate_fork(private_memory(), costs);
}

}  // namespace tabane::team
