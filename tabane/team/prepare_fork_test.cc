#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/team/fork.h"
#include "tabane/team/fork_cost.h"

namespace tabane::team {
namespace {

using core::kMiB;

core::Region small_region(std::size_t bytes) {
  core::MemoryOptions options;
  options.pages = core::PageSize::small;
  return core::Region(bytes, options);
}

// A value that depends on the place, so that a swapped page shows.
std::uint64_t pattern(std::size_t i) { return i * 0x9e3779b97f4a7c15U + 1; }

void fill(std::span<std::uint64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = pattern(i);
}

std::size_t count_wrong(std::span<const std::uint64_t> words) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < words.size(); ++i) wrong += words[i] != pattern(i);
  return wrong;
}

TEST(PrepareForFork, KeepsTheContentAndSaysWhatBecameHuge) {
  const core::Region region = small_region(32 * kMiB);
  fill(region.as<std::uint64_t>());
  ASSERT_EQ(region.huge_bytes().value_or(0), 0U);
  const Preparation done = prepare_for_fork();
  EXPECT_EQ(count_wrong(region.as<std::uint64_t>()), 0U);
  EXPECT_GE(done.bytes, region.huge_bytes().value_or(0));
  if (done.bytes == 0) {
    EXPECT_FALSE(done.remark.empty());
    GTEST_SKIP() << done.remark;
  }
  EXPECT_GT(region.huge_bytes().value_or(0), 0U);
}

TEST(PrepareForFork, LeavesMemoryThatBothSidesCanGoOnWriting) {
  core::Region region = small_region(8 * kMiB);
  const auto words = region.as<std::uint64_t>();
  fill(words);
  prepare_for_fork();
  const pid_t child = fork_child([&] {
    const bool right = count_wrong(words) == 0;
    std::memset(words.data(), 0, words.size_bytes() / 2);
    return right && words.back() == pattern(words.size() - 1) && words[0] == 0 ? 0 : 1;
  });
  EXPECT_EQ(wait_for_child(child), 0);
  EXPECT_EQ(count_wrong(words), 0U);
  words[7] = 7;
  EXPECT_EQ(words[7], 7U);
}

TEST(PrepareForFork, TakesTheHeapToo) {
  // Many pieces below the size from which malloc makes a mapping of its own.
  std::vector<std::vector<std::uint64_t>> pieces(512, std::vector<std::uint64_t>(4096));
  for (auto& piece : pieces) fill(piece);
  const std::uint64_t small_before = private_memory().small_page_bytes;
  const Preparation done = prepare_for_fork();
  for (const auto& piece : pieces) EXPECT_EQ(count_wrong(piece), 0U);
  if (done.bytes == 0) GTEST_SKIP() << done.remark;
  EXPECT_LT(private_memory().small_page_bytes, small_before);
}

TEST(PrepareForFork, HasNothingLeftToDoTheSecondTime) {
  const core::Region region = small_region(16 * kMiB);
  fill(region.as<std::uint64_t>());
  const Preparation first = prepare_for_fork();
  if (first.bytes == 0 || first.left_bytes > 0) GTEST_SKIP() << first.remark;
  const std::size_t huge = region.huge_bytes().value_or(0);
  const Preparation second = prepare_for_fork();
  EXPECT_LT(second.bytes, kMiB * 8);
  EXPECT_EQ(region.huge_bytes().value_or(0), huge);
}

TEST(PrepareForFork, LeavesRegionsBelowTheLeastSize) {
  const core::Region region = small_region(8 * kMiB);
  fill(region.as<std::uint64_t>());
  prepare_for_fork(std::uint64_t{1} << 40);
  EXPECT_EQ(region.huge_bytes().value_or(0), 0U);
}

TEST(PrepareForFork, DoesNotFillEmptyMemory) {
  const core::Region region = small_region(256 * kMiB);
  region.data()[0] = std::byte{1};
  region.data()[region.size() / 2] = std::byte{2};
  const PrivateMemory before = private_memory();
  prepare_for_fork();
  const PrivateMemory after = private_memory();
  EXPECT_EQ(region.huge_bytes().value_or(0), 0U);
  EXPECT_EQ(region.data()[region.size() / 2], std::byte{2});
  EXPECT_LT(after.small_page_bytes + after.huge_page_bytes,
            before.small_page_bytes + before.huge_page_bytes + 32 * kMiB);
}

TEST(PrepareForFork, LeavesMemoryThatChildrenDoNotInherit) {
  const core::Region region = small_region(8 * kMiB);
  fill(region.as<std::uint64_t>());
  ASSERT_EQ(madvise(region.data(), region.size(), MADV_DONTFORK), 0);
  prepare_for_fork();
  EXPECT_EQ(region.huge_bytes().value_or(0), 0U);
  EXPECT_EQ(count_wrong(region.as<std::uint64_t>()), 0U);
}

}  // namespace
}  // namespace tabane::team
