#include "tabane/tools/linpack/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tabane::linpack {
namespace {

TEST(RandomSystem, IsTheSameInPieces) {
  const RandomSystem system(40, 7);
  std::vector<double> whole(40), piece(13);
  system.read(40, 0, whole);
  system.read(40, 20, piece);
  EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + 20));
}

TEST(RandomSystem, LooksRandom) {
  const RandomSystem system(10000, 1), other(10000, 2);
  std::vector<double> a(10000), b(10000), c(10000);
  system.read(0, 0, a);
  system.read(1, 0, b);
  other.read(0, 0, c);
  const auto mean_product = [](const auto& x, const auto& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum / static_cast<double>(x.size());
  };
  EXPECT_NEAR(mean_product(a, a), 1.0 / 12, 0.004);  // five standard deviations
  EXPECT_NEAR(mean_product(a, b), 0, 0.0042);
  EXPECT_NEAR(mean_product(a, c), 0, 0.0042);
  const auto [least, most] = std::ranges::minmax(a);
  EXPECT_GE(least, -0.5);
  EXPECT_LT(most, 0.5);
}

TEST(GivenSystem, HasTheSumsOfItsRowsOnTheRightUnlessItIsGiven) {
  std::vector<double> b(2);
  GivenSystem(2, {1, 2, 3, 4}).read(2, 0, b);
  EXPECT_EQ(b, (std::vector<double>{4, 6}));
  const GivenSystem given(2, {1, 2, 3, 4}, {7, 8});
  given.read(2, 0, b);
  EXPECT_EQ(b, (std::vector<double>{7, 8}));
  given.read(1, 0, b);
  EXPECT_EQ(b, (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace tabane::linpack
