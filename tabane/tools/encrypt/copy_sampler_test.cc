#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/copy_share.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;

class CopySampling : public testing::Test {
 protected:
  CopySampling() {
    fs::create_directories(folder / "in");
    fs::create_directories(folder / "out");
  }

  // Many files of one size, in units of 64.
  void make_small_files(int count, std::size_t bytes) {
    for (int i = 0; i < count; ++i) {
      core::write_file(folder / "in" / std::to_string(i), std::string(bytes, 'x'));
    }
    open_tree();
    for (int i = 0; i < count; i += 64) {
      plan.units.push_back({.first_file = static_cast<std::uint32_t>(i), .files = 64});
    }
  }
  void open_tree() {
    in = core::open_directory(folder / "in");
    out = core::open_directory(folder / "out");
    tree = scan(in.get(), {});
  }

  // Calls the sampler around units whose work is to read a file so many times.
  void run(bool whole, int reads) {
    CopySampler sampler(tree, plan, in.get(), out.get(), pairs);
    for (const Unit& unit : plan.units) {
      sampler.before(unit);
      for (int i = 0; i < reads; ++i) core::read_file(folder / "in" / "0");
      sampler.after(unit, whole);
    }
  }

  core::ScratchFolder folder{"copy-sampler-test"};
  core::Descriptor in, out;
  Tree tree;
  Plan plan;
  CopyPairs pairs;
};

TEST_F(CopySampling, CopiesAFewWholeFilesOfSmallOnesAndLeavesNothing) {
  make_small_files(64 * 40, 1000);
  run(true, 64);
  ASSERT_FALSE(pairs.all().empty());
  for (const CopyPair& pair : pairs.all()) {
    EXPECT_EQ(pair.copy_amount, 4 * (1000 + kBytesOfFile));
    EXPECT_EQ(pair.work_amount, 64 * (1000 + kBytesOfFile));
    EXPECT_GT(pair.copy_seconds, 0);
    EXPECT_GT(pair.work_seconds, 0);
  }
  EXPECT_TRUE(fs::is_empty(folder / "out"));
}

TEST_F(CopySampling, CopiesAPartOfEachPieceOfALargeFile) {
  core::write_file(folder / "in/0", "");
  fs::resize_file(folder / "in/0", 400 << 20);
  open_tree();
  plan.piece_bytes = 8 << 20;
  for (std::uint32_t i = 0; i < 50; ++i) plan.units.push_back({.piece = i, .pieces = 50});
  CopySampler sampler(tree, plan, in.get(), out.get(), pairs);
  for (const Unit& unit : plan.units) {
    sampler.before(unit);
    sampler.after(unit, true);
  }
  // As if working took no time: the first copy takes more than is ever allowed.
  ASSERT_EQ(pairs.all().size(), 1u);
  EXPECT_EQ(pairs.all()[0].copy_amount, 256 << 10);
  EXPECT_EQ(pairs.all()[0].work_amount, 8 << 20);
}

TEST_F(CopySampling, MakesNoPairOfAUnitThatWasNotWholeWork) {
  make_small_files(64 * 40, 1000);
  run(false, 64);
  EXPECT_TRUE(pairs.all().empty());
}

TEST_F(CopySampling, TakesAFileThatCannotBeCopiedForNoSample) {
  make_small_files(64 * 40, 1000);
  for (int i = 1; i < 64 * 40; ++i) fs::remove(folder / "in" / std::to_string(i));
  run(true, 64);
  EXPECT_TRUE(pairs.all().empty());
  EXPECT_TRUE(fs::is_empty(folder / "out"));
}

}  // namespace
}  // namespace tabane::encrypt
