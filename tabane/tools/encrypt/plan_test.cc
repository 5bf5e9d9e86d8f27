#include "tabane/tools/encrypt/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tabane/core/units.h"

namespace tabane::encrypt {
namespace {

using core::kGiB, core::kKiB, core::kMiB;

// files_per_directory files of one size in each directory.
Tree tree_of(std::uint32_t directories, std::uint32_t files_per_directory, std::uint64_t bytes) {
  Tree tree;
  tree.names.append("x", 2);
  for (std::uint32_t d = 0; d < directories; ++d) {
    tree.directories.push_back({.parent = 0, .name_at = 0});
    for (std::uint32_t f = 0; f < files_per_directory; ++f) {
      tree.files.push_back({.name_at = 0, .bytes = bytes, .directory = d});
    }
  }
  return tree;
}

// How often every file is done, a piece counting as its share.
std::map<std::uint32_t, double> coverage(const Plan& plan) {
  std::map<std::uint32_t, double> done;
  for (const Unit& unit : plan.units) {
    for (std::uint32_t i = 0; i < unit.files; ++i) done[unit.first_file + i] += 1.0 / unit.pieces;
  }
  return done;
}

void expect_every_file_once(const Tree& tree, const Plan& plan) {
  const auto done = coverage(plan);
  ASSERT_EQ(done.size(), tree.files.size());
  for (const auto& [file, times] : done) EXPECT_NEAR(times, 1.0, 1e-9) << file;
}

TEST(ChooseThreads, TakesOneForLittleWorkAndAllForMuch) {
  EXPECT_EQ(choose_threads(0, 0, 512), 1u);
  EXPECT_EQ(choose_threads(10, 1280, 12), 1u);
  EXPECT_EQ(choose_threads(20000, 20000 * kKiB, 2), 2u);
  EXPECT_EQ(choose_threads(100, 400 * kMiB, 512), 512u);
  EXPECT_EQ(choose_threads(1, kGiB, 1), 1u);
}

TEST(ChooseThreads, NeverTakesFewerForMoreWork) {
  unsigned before = 1;
  for (std::uint64_t bytes = 1; bytes < kGiB; bytes *= 2) {
    const unsigned threads = choose_threads(10, bytes, 512);
    EXPECT_GE(threads, before);
    before = threads;
  }
}

TEST(Plan, OfAnEmptyTreeHasNoUnits) {
  const Plan plan = make_plan(tree_of(1, 0, 0), {.threads = 0, .pus = 8});
  EXPECT_TRUE(plan.units.empty());
  EXPECT_EQ(plan.threads, 1u);
}

TEST(Plan, DoesEveryFileOnce) {
  for (std::uint64_t bytes : {std::uint64_t{0}, kKiB, kMiB - 1, kMiB, 3 * kMiB + 5, 100 * kMiB}) {
    for (unsigned pus : {1u, 2u, 72u, 512u}) {
      for (bool can_split : {false, true}) {
        const Tree tree = tree_of(3, 7, bytes);
        const Plan plan =
            make_plan(tree, {.pus = pus, .can_split = can_split, .piece_unit = 65536});
        expect_every_file_once(tree, plan);
      }
    }
  }
}

TEST(Plan, CutsOneLargeFileForAllThreads) {
  const Tree tree = tree_of(1, 1, 4 * kGiB);
  const Plan plan = make_plan(tree, {.pus = 2, .can_split = true, .piece_unit = 65536});
  EXPECT_EQ(plan.threads, 2u);
  EXPECT_EQ(plan.units.size(), 256u);
  EXPECT_EQ(plan.piece_bytes % 65536, 0u);
  EXPECT_EQ(make_plan(tree, {.pus = 512, .can_split = true, .piece_unit = 65536}).threads, 512u);
}

TEST(Plan, KeepsAFileWholeThatCannotBeSplit) {
  const Plan plan = make_plan(tree_of(1, 1, 4 * kGiB), {.pus = 512, .can_split = false});
  EXPECT_EQ(plan.units.size(), 1u);
  EXPECT_EQ(plan.threads, 1u);
}

TEST(Plan, PutsLargeFilesFirst) {
  Tree tree = tree_of(1, 3, kKiB);
  tree.files[1].bytes = 2 * kMiB;
  tree.files[2].bytes = 8 * kMiB;
  const Plan plan = make_plan(tree, {.threads = 1, .pus = 1});
  ASSERT_EQ(plan.units.size(), 3u);
  EXPECT_EQ(plan.units[0].first_file, 2u);
  EXPECT_EQ(plan.units[1].first_file, 1u);
  EXPECT_EQ(plan.units[2].first_file, 0u);
}

TEST(Plan, GivesDirectoriesOfSmallFilesAsBatches) {
  const Tree tree = tree_of(100, 200, kKiB);
  const Plan plan = make_plan(tree, {.pus = 2});
  EXPECT_EQ(plan.threads, 2u);
  EXPECT_EQ(plan.units.size(), 100u);
  for (const Unit& unit : plan.units) EXPECT_EQ(unit.first_file % 200, 0u);
}

TEST(Plan, ObeysTheNumberOfThreadsAskedFor) {
  EXPECT_EQ(make_plan(tree_of(1, 1, 1), {.threads = 7, .pus = 2}).threads, 7u);
}

// What a thread takes of equal files if `share` files are its share of what is left.
std::size_t taken(std::size_t share, std::size_t lanes) {
  OpenChains open;
  while (takes_chain(open, kMiB, share * kMiB, lanes) && open.files < 1000) {
    ++open.files;
    open.bytes_left += kMiB;
  }
  return open.files;
}

TEST(TakesChain, FillsTheLanesWhileThereIsMuch) {
  EXPECT_EQ(taken(50, 16), 16u);
  EXPECT_EQ(taken(32, 16), 16u);
  EXPECT_EQ(taken(500, 1), 1u);
}

TEST(TakesChain, LeavesOtherThreadsTheirShare) {
  EXPECT_EQ(taken(2, 16), 2u);
  EXPECT_EQ(taken(15, 16), 15u);
  EXPECT_EQ(taken(0, 16), 1u);
}

TEST(TakesChain, TakesTheLastShareAsAWhole) {
  EXPECT_EQ(taken(18, 16), 18u);
  EXPECT_EQ(taken(31, 16), 31u);
  EXPECT_EQ(taken(1, 1), 1u);
}

TEST(TakesChain, CountsWhatIsLeftOfItsFiles) {
  EXPECT_TRUE(takes_chain({.files = 8, .bytes_left = kMiB}, kMiB, 4 * kMiB, 16));
  EXPECT_FALSE(takes_chain({.files = 2, .bytes_left = 4 * kMiB}, kMiB, 4 * kMiB, 16));
  EXPECT_FALSE(takes_chain({.files = 16, .bytes_left = 8 * kMiB}, kMiB, 26 * kMiB, 16));
}

}  // namespace
}  // namespace tabane::encrypt
