#include "tabane/tools/matmul/matrix.h"

#include <gtest/gtest.h>

#include <utility>

#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::matmul {
namespace {

TEST(MpMatrix, StartsWithZerosAndOwnsItsCopies) {
  Matrix a(2, 3, 70);
  EXPECT_TRUE(mpfr_zero_p(a.at(1, 2)) && !mpfr_signbit(a.at(1, 2)));
  mpfr_set_d(a.at(1, 2), 2.5, MPFR_RNDN);
  Matrix b = a;
  EXPECT_TRUE(a == b);
  mpfr_set_d(b.at(1, 2), 3, MPFR_RNDN);
  EXPECT_EQ(mpfr_get_d(a.at(1, 2), MPFR_RNDN), 2.5);
  const Matrix c = std::move(b);
  EXPECT_EQ(mpfr_get_d(c.at(1, 2), MPFR_RNDN), 3);
  EXPECT_EQ(mpfr_get_prec(c.at(0, 0)), 70);
}

TEST(MpMatrix, TellsBitsApart) {
  Matrix a(1, 1, 53), b(1, 1, 53);
  mpfr_set_zero(b.at(0, 0), -1);
  EXPECT_FALSE(a == b);
  mpfr_set_nan(a.at(0, 0));
  mpfr_set_nan(b.at(0, 0));
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(Matrix(1, 1, 53) == Matrix(1, 1, 54));
}

TEST(MpMatrix, GoesThroughMessages) {
  Matrix a = random_matrix(5, 6, 130, 2);
  mpfr_set_inf(a.at(3, 4), -1);
  mpfr_set_nan(a.at(2, 2));
  const Matrix part = a.part({1, 5}, {2, 6});
  EXPECT_EQ(part.rows(), 4);
  EXPECT_TRUE(mpfr_inf_p(part.at(2, 2)) && mpfr_signbit(part.at(2, 2)));
  EXPECT_TRUE(mpfr_nan_p(part.at(1, 0)));
  EXPECT_TRUE(mpfr_equal_p(part.at(3, 3), a.at(4, 5)));
}

TEST(MpMatrix, RandomNumbersAreThoseOfTheirSeedAndBelowTheRoot) {
  EXPECT_TRUE(random_matrix(9, 9, 100, 2, 5) == random_matrix(9, 9, 100, 2, 5));
  EXPECT_FALSE(random_matrix(9, 9, 100, 2, 5) == random_matrix(9, 9, 100, 2, 6));
  const Matrix a = random_matrix(40, 40, 100, 3);
  double most = 0;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 40; ++j) {
      EXPECT_GE(mpfr_sgn(a.at(i, j)), 0);
      most = std::max(most, mpfr_get_d(a.at(i, j), MPFR_RNDN));
    }
  }
  EXPECT_LT(most, 1.7320508076);
  EXPECT_GT(most, 1.7);
}

Matrix read(const std::string& text, mpfr_prec_t bits = 100) {
  const core::ScratchFolder folder("mp-text");
  core::write_file(folder.path() / "m.txt", text);
  return read_text(folder.path() / "m.txt", bits);
}

TEST(MpTextFile, ReadsRowsOfDecimalNumbers) {
  const Matrix m = read("# two rows\n1 -2.5e1\t+3\r\n\n .5 inf nan # the second\n");
  EXPECT_EQ(m.rows(), 2);
  EXPECT_EQ(m.columns(), 3);
  EXPECT_EQ(mpfr_get_d(m.at(0, 1), MPFR_RNDN), -25);
  EXPECT_EQ(mpfr_get_d(m.at(0, 2), MPFR_RNDN), 3);
  EXPECT_EQ(mpfr_get_d(m.at(1, 0), MPFR_RNDN), 0.5);
  EXPECT_TRUE(mpfr_inf_p(m.at(1, 1)));
  EXPECT_TRUE(mpfr_nan_p(m.at(1, 2)));
  EXPECT_EQ(read("").rows(), 0);
}

TEST(MpTextFile, LinesEndAsOnAnySystem) {
  for (const char* const end : {"\n", "\r\n", "\r"}) {
    const Matrix m = read(std::string("# m") + end + "1 2" + end + end + "3 4" + end);
    EXPECT_EQ(m.rows(), 2);
    EXPECT_EQ(m.columns(), 2);
  }
}

TEST(MpTextFile, RoundsOnce) {
  mpfr_t tenth;
  mpfr_init2(tenth, 200);
  mpfr_set_str(tenth, "0.1", 10, MPFR_RNDN);
  EXPECT_TRUE(mpfr_equal_p(read("0.1", 200).at(0, 0), tenth));
  mpfr_clear(tenth);
}

TEST(MpTextFile, WritesWhatIsReadBackBitByBit) {
  const core::ScratchFolder folder("mp-text");
  for (const mpfr_prec_t bits : {2, 53, 300}) {
    Matrix m = random_matrix(4, 5, bits, 2);
    mpfr_set_zero(m.at(0, 0), -1);
    mpfr_set_inf(m.at(0, 1), -1);
    mpfr_set_nan(m.at(0, 2));
    mpfr_set_si_2exp(m.at(0, 3), -3, -3000, MPFR_RNDN);
    mpfr_set_si_2exp(m.at(1, 3), 1, 5000, MPFR_RNDN);
    mpfr_set_ui(m.at(1, 4), 1, MPFR_RNDN);
    core::write_output(folder.path() / "m.txt", text_of(m));
    EXPECT_TRUE(read_text(folder.path() / "m.txt", bits) == m);
  }
}

TEST(MpTextFile, RefusesWithLineAndColumn) {
  const auto expect_refused = [](const std::string& text, const std::string& part) {
    const std::string refusal = core::text_of_error<core::UsageError>([&] { read(text); });
    EXPECT_NE(refusal.find("m.txt, line " + part), std::string::npos) << text << refusal;
  };
  expect_refused("1 2\n3 x4\n", "2, column 3: \"x4\" is not a decimal number");
  expect_refused("1 2\n\n3\n", "3, column 1: a row of 1 numbers, but the first row has 2");
  expect_refused("1 2\n3 4 5\n", "2, column 5: a row of 3 numbers");
  expect_refused("0x10\n", "1, column 1");
  expect_refused("1,5\n", "1, column 1: \"1,5\"");
  expect_refused("@nan@\n", "1, column 1");
  expect_refused("1e\n", "1, column 1");
  expect_refused("--1\n", "1, column 1");
  expect_refused("1e9999999999999999999\n", "1, column 1");
}

}  // namespace
}  // namespace tabane::matmul
