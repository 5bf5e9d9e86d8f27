#include "tabane/team/fork_cost.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/statistics.h"
#include "tabane/core/units.h"
#include "tabane/team/fork.h"

namespace tabane::team {
namespace {

using core::kMiB;

core::Region small_pages(std::size_t bytes) {
  core::MemoryOptions options;
  options.pages = core::PageSize::small;
  core::Region region(bytes, options);
  region.touch();
  return region;
}

double time_fork() {
  const auto begin = std::chrono::steady_clock::now();
  wait_for_child(fork_child([] { return 0; }));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

ForkCosts hand_costs() {
  ForkCosts costs;
  costs.fixed_seconds = 1e-4;
  costs.small_page_seconds = 1e-7;
  costs.huge_page_seconds = 1e-6;
  costs.prepare_seconds_per_byte = 1e-9;
  return costs;
}

TEST(PrivateMemory, CountsTouchedPagesOfPrivateRegions) {
  const PrivateMemory before = private_memory();
  const core::Region region = small_pages(32 * kMiB);
  const core::Region untouched(32 * kMiB);
  const PrivateMemory after = private_memory();
  // Reading the map itself takes and gives back some pages.
  EXPECT_GE(after.small_page_bytes, before.small_page_bytes + 31 * kMiB);
  EXPECT_LT(after.small_page_bytes, before.small_page_bytes + 40 * kMiB);
  EXPECT_LE(after.preparable_bytes, after.small_page_bytes);
  if (core::huge_page_bytes() == 0) {
    EXPECT_EQ(after.preparable_bytes, 0U);
  } else {
    EXPECT_GE(after.preparable_bytes,
              before.preparable_bytes + 31 * kMiB - 2 * core::huge_page_bytes());
  }
}

TEST(EstimateFork, AddsWhatEveryPageCosts) {
  PrivateMemory memory;
  memory.small_page_bytes = 1000 * core::page_bytes();
  ForkEstimate estimate = estimate_fork(memory, hand_costs());
  EXPECT_DOUBLE_EQ(estimate.seconds, 1e-4 + 1000 * 1e-7);
  EXPECT_DOUBLE_EQ(estimate.prepared_seconds, estimate.seconds);  // nothing can be prepared
  EXPECT_EQ(estimate.prepare_seconds, 0);
  estimate = estimate_fork({}, hand_costs());
  EXPECT_DOUBLE_EQ(estimate.seconds, 1e-4);
}

TEST(EstimateFork, MovesPreparableMemoryToHugePages) {
  const std::size_t huge = core::huge_page_bytes();
  if (huge == 0) GTEST_SKIP() << "the system has no huge pages";
  PrivateMemory memory;
  memory.small_page_bytes = 12 * huge;
  memory.huge_page_bytes = 3 * huge;
  memory.preparable_bytes = 10 * huge;
  const double small_pages = static_cast<double>(huge / core::page_bytes());
  const ForkEstimate estimate = estimate_fork(memory, hand_costs());
  EXPECT_DOUBLE_EQ(estimate.seconds, 1e-4 + 12 * small_pages * 1e-7 + 3e-6);
  EXPECT_DOUBLE_EQ(estimate.prepared_seconds, 1e-4 + 2 * small_pages * 1e-7 + 13e-6);
  EXPECT_DOUBLE_EQ(estimate.prepare_seconds, 10 * static_cast<double>(huge) * 1e-9);
}

TEST(EstimateFork, PromisesNothingWhereTheSystemGivesNoHugePages) {
  ForkCosts costs = hand_costs();
  costs.huge_page_seconds.reset();
  costs.prepare_seconds_per_byte.reset();
  PrivateMemory memory;
  memory.small_page_bytes = memory.preparable_bytes = 64 * kMiB;
  const ForkEstimate estimate = estimate_fork(memory, costs);
  EXPECT_EQ(estimate.prepared_seconds, estimate.seconds);
  EXPECT_EQ(estimate.prepare_seconds, 0);
}

TEST(EstimateFork, GrowsWithTheMemoryThatIsHeldAndFallsWithPreparation) {
  const core::Region some = small_pages(8 * kMiB);
  const ForkEstimate before = estimate_fork();
  const core::Region more = small_pages(64 * kMiB);
  const ForkEstimate after = estimate_fork();
  ASSERT_GT(fork_costs().small_page_seconds, 0);
  EXPECT_GT(after.seconds, before.seconds);
  if (!fork_costs().huge_page_seconds) GTEST_SKIP() << "the system gives no huge pages";
  EXPECT_LT(after.prepared_seconds, after.seconds);
  EXPECT_GT(after.prepare_seconds, 0);
}

TEST(ForkCosts, PredictAForkWithinAFactorOfFour) {
  const core::Region region = small_pages(128 * kMiB);
  const PrivateMemory memory = private_memory();
  std::vector<double> ratios;
  for (int i = 0; i < 5; ++i) {
    const ForkCosts costs = measure_fork_costs();
    const double real = core::median(std::vector{time_fork(), time_fork(), time_fork()});
    ratios.push_back(estimate_fork(memory, costs).seconds / real);
  }
  EXPECT_GT(core::median(ratios), 0.25);
  EXPECT_LT(core::median(ratios), 4);
}

// A hundred forks of everything would show that the caller's memory is not set aside.
TEST(ForkCosts, AreMeasuredWithoutCopyingTheCallersMemoryEachTime) {
  const auto time_measuring = [] {
    const auto begin = std::chrono::steady_clock::now();
    measure_fork_costs();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<double> extra, forks;
  for (int i = 0; i < 3; ++i) {
    const double small = time_measuring();
    const core::Region region = small_pages(256 * kMiB);
    extra.push_back(time_measuring() - small);
    forks.push_back(time_fork());
  }
  EXPECT_LT(core::median(extra), 40 * core::median(forks));
}

TEST(ForkCosts, LeaveTheCallersMemoryInheritable) {
  core::Region region = small_pages(16 * kMiB);
  region.data()[12345] = std::byte{42};
  measure_fork_costs();
  const int seen =
      wait_for_child(fork_child([&] { return static_cast<int>(region.data()[12345]); }));
  EXPECT_EQ(seen, 42);
}

TEST(ForkCosts, LeaveNoChildBehind) {
  measure_fork_costs();
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace tabane::team
