#include "tabane/tools/linpack/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"

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

const std::string kBanner = "%%MatrixMarket matrix ";

MarketMatrix read(const std::string& text) {
  const core::ScratchFolder folder("matrix-market");
  core::write_file(folder.path() / "m.mtx", text);
  return read_matrix_market(folder.path() / "m.mtx", [](int, int) {});
}

using Values = std::vector<double>;

TEST(MatrixMarket, ReadsArraysByColumns) {
  const MarketMatrix matrix =
      read(kBanner + "array real general\n% comment\n\n2 3\n1\n-2.5e1\n" + "+3\r\n 4 \n5\n6");
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.columns, 3);
  EXPECT_EQ(matrix.values, (Values{1, -25, 3, 4, 5, 6}));
}

TEST(MatrixMarket, ReadsTheLowerTriangleOfSymmetricArrays) {
  EXPECT_EQ(read(kBanner + "array integer symmetric\n2 2\n1\n2\n3\n").values, (Values{1, 2, 2, 3}));
}

TEST(MatrixMarket, ReadsCoordinatesAndAddsThoseGivenTwice) {
  EXPECT_EQ(read(kBanner + "COORDINATE Real General\n2 2 3\n1 1 4\n2 1 0.5\n1 1 1\n").values,
            (Values{5, 0.5, 0, 0}));
  EXPECT_EQ(read(kBanner + "coordinate integer symmetric\n2 2 2\n1 1 4\n2 1 7\n").values,
            (Values{4, 7, 7, 0}));
}

TEST(MatrixMarket, ReadsEmptyOnes) {
  EXPECT_EQ(read(kBanner + "array real general\n0 0\n").values, Values{});
  EXPECT_EQ(read(kBanner + "coordinate real general\n1 1 0\n").values, Values{0});
}

TEST(MatrixMarket, AsksBeforeItTakesMemory) {
  const core::ScratchFolder folder("matrix-market");
  core::write_file(folder.path() / "m.mtx",
                   kBanner + "coordinate real general\n1000000000 1000000000 0\n");
  EXPECT_THROW(read_matrix_market(folder.path() / "m.mtx",
                                  [](int rows, int) {
                                    EXPECT_EQ(rows, 1000000000);
                                    throw core::UsageError("too large");
                                  }),
               core::UsageError);
}

void expect_refused(const std::string& text, const std::string& part) {
  const std::string refusal = core::text_of_error<core::UsageError>([&] { read(text); });
  EXPECT_NE(refusal.find("m.mtx, line " + part), std::string::npos)
      << refusal << "\nlacks: " << part;
}

TEST(MatrixMarket, RefusesWhatItIsNotNamingLineAndWhatWasExpected) {
  expect_refused("", "1: \"\" is where \"%%MatrixMarket");
  expect_refused("1 2 3\n", "1:");
  expect_refused(kBanner + "array complex general\n", "1:");
  expect_refused(kBanner + "coordinate pattern general\n", "1:");
  expect_refused(kBanner + "array real skew-symmetric\n", "1:");
  const std::string array = kBanner + "array real general\n";
  expect_refused(array, "1: the file ends where \"rows columns\" should be");
  expect_refused(array + "2\n", "2: \"2\" is where \"rows columns\" should be");
  expect_refused(array + "2 -1\n", "2:");
  expect_refused(array + "2 99999999999\n", "2:");
  expect_refused(array + "1 2\n1\n", "3: the file ends where element (1, 2) should be");
  expect_refused(array + "1 1\nx\n", "3: \"x\" is where a number should be");
  expect_refused(array + "1 1\n1 2\n", "3: \"1 2\" is where one number should be");
  expect_refused(array + "1 1\nnan\n", "3: \"nan\" is where a finite number should be");
  expect_refused(array + "1 1\n-inf\n", "3: \"-inf\" is where a finite number should be");
  expect_refused(array + "1 1\n1\n\n2\n", "5: \"2\" follows the last element");
  expect_refused(kBanner + "array integer general\n1 1\n1.5\n", "3:");
  expect_refused(kBanner + "array real symmetric\n1 2\n", "2:");
  const std::string coordinate = kBanner + "coordinate real general\n2 2 1\n";
  expect_refused(coordinate, "2: the file ends where element 1 of 1 should be");
  expect_refused(coordinate + "1 1\n", "3: \"1 1\" is where \"row column value\"");
  expect_refused(coordinate + "3 1 5\n", "3: \"3 1 5\" is where a row of 1 to 2");
  expect_refused(coordinate + "0 1 5\n", "3:");
  expect_refused(kBanner + "coordinate real symmetric\n2 2 1\n1 2 5\n",
                 "3: \"1 2 5\" is where an element on or below the diagonal");
}

}  // namespace
}  // namespace tabane::linpack
