#include "tabane/tools/slalom/model.h"

#include <gtest/gtest.h>

#include "tabane/tools/slalom/box_test.h"
#include "tabane/tools/slalom/setup.h"

namespace tabane::slalom {
namespace {

// In published lists of results, to 0.1 million.
TEST(CountedOperations, AreThoseOfPublishedResults) {
  for (const auto& [patches, millions] :
       {std::pair{2390, 13477.0}, {2303, 12103.3}, {4452, 83332.9}}) {
    EXPECT_NEAR(counted_operations(kBox, patches, Revision::r152) / 1e6, millions, 0.05);
  }
}

// The revisions differ in the set-up alone: 3 of its start, 308 per pair of opposite patches, 60
// per other pair, 8 per patch.
TEST(CountedOperations, OfTheRevisionsDifferInTheSetUp) {
  const double pairs_opposite = 12 * 12 + 7 * 7 + 11 * 11;
  const double squares = 2 * pairs_opposite;
  const double others = (60 * 60 - squares - 2 * pairs_opposite) / 2;
  EXPECT_EQ(
      counted_operations(kBox, 60, Revision::r152) - counted_operations(kBox, 60, Revision::r126),
      308 * pairs_opposite + 60 * others - 3 - 8 * 60);
}

// For one patch a face, all of it by hand: K = 1 + 1 + 1 + 1 + 1 + 1, T = 3, Q = 6, f = 2.
TEST(CountedOperations, OfSixPatches) {
  const double set_up = 6 + 532 * 3 + 8 * 6 + 370 * 12.0 + 72 + 54 + 30;
  const double solver = 216 + 270 - 15 - 21 + 2 * (8 - 33 + 35.5) + 12 * 3;
  EXPECT_EQ(counted_operations(kBox, 6, Revision::r126),
            258 + (154 + 48 + 6) + set_up + solver + 48 * 6);
}

TEST(Memory, IsAboutThreeTimesTheLowerPart) {
  const double rest = 0.8 * 20000;
  const double least = 8 * (3 * rest * rest / 2 + rest * 4000);
  for (const comm::GridShape grid : {comm::GridShape{1, 1}, {2, 1}, {1, 2}, {3, 3}}) {
    const auto bytes = static_cast<double>(bytes_of_ranks(kBox, 20000, grid));
    EXPECT_GT(bytes, least);
    EXPECT_LT(bytes, 1.35 * least);
  }
}

TEST(MostPatches, AreTheMostThatFit) {
  const comm::GridShape grid{2, 1};
  for (double bytes : {1e6, 1e8, 4e9}) {
    const int most = most_patches(kBox, bytes, grid);
    EXPECT_LE(static_cast<double>(bytes_of_ranks(kBox, most, grid)), bytes);
    EXPECT_GT(static_cast<double>(bytes_of_ranks(kBox, most + 40, grid)), bytes);
  }
}

TEST(RowSums, ShowASumThatIsNoNumber) {
  const Region region = cut_into_patches(kBox, 6);
  std::vector<double> sums;
  for (const Patch& patch : region.patches)
    sums.push_back(8 * 3.14159265358979323846 * patch.area());
  EXPECT_LT(worst_row_sum(region, sums), 1e-15);
  sums[2] *= 1 + 1e-9;
  EXPECT_NEAR(worst_row_sum(region, sums), 1e-9, 1e-15);
  sums[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(worst_row_sum(region, sums) <= kRowSumTolerance);
}

}  // namespace
}  // namespace tabane::slalom
