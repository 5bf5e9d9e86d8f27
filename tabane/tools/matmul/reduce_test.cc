#include "tabane/tools/matmul/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tabane/tools/matmul/random.h"

namespace tabane::matmul {
namespace {

constexpr std::int64_t kP = 4194301;
constexpr Modulus kModulus{static_cast<double>(kP), 1.0 / kP};

// Of less than 2^53 - 2^26 in magnitude, also at both ends and at odd multiples of p / 2.
std::vector<double> integers(std::size_t n, std::uint64_t seed) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t draw = random_bits(seed, i);
    double value = std::ldexp(static_cast<double>(draw >> 11), static_cast<int>(draw % 3) - 2);
    value = std::floor(std::min(value, 0x1p53 - 0x1p26));
    if (i % 5 == 1) value = 0x1p53 - 0x1p26;
    if (i % 5 == 2) value = static_cast<double>((2 * static_cast<std::int64_t>(i) + 1) * (kP / 2));
    values.push_back(draw & 1 ? -value : value);
  }
  return values;
}

void expect_residue(double found, std::int64_t of) {
  EXPECT_LE(std::abs(found), kP / 2.0 + 2);
  EXPECT_EQ((of - static_cast<std::int64_t>(found)) % kP, 0) << of;
}

TEST(MpReduce, GivesSymmetricResidues) {
  for (const std::size_t n : {0, 1, 7, 8, 9, 100}) {
    const std::vector<double> x = integers(n, 1);
    std::vector<double> y(n + 1, 0.5), old(n);
    std::vector<std::int32_t> z(n + 1, 77);
    reduce(x.data(), nullptr, y.data(), n, kModulus);
    reduce(x.data(), z.data(), n, kModulus, false);
    for (std::size_t i = 0; i < n; ++i) {
      expect_residue(y[i], static_cast<std::int64_t>(x[i]));
      EXPECT_EQ(y[i], z[i]);
    }
    EXPECT_EQ(y[n], 0.5);
    EXPECT_EQ(z[n], 77);
    const std::vector<double> before = y;
    reduce(x.data(), y.data(), y.data(), n, kModulus);
    reduce(x.data(), z.data(), n, kModulus, true);
    for (std::size_t i = 0; i < n; ++i) {
      expect_residue(y[i], static_cast<std::int64_t>(x[i]) + static_cast<std::int64_t>(before[i]));
      EXPECT_EQ(y[i], z[i]);
    }
  }
}

TEST(MpReduce, PutsThreeProductsTogether) {
  constexpr std::size_t kN = 37;
  const std::vector<double> x = integers(kN, 1), y = integers(kN, 2), z = integers(kN, 3);
  std::vector<std::int32_t> re(kN, 5), im(kN, -6);
  for (const bool accumulate : {true, false}) {
    const std::vector<std::int32_t> old_re = re, old_im = im;
    reduce_complex(x.data(), y.data(), z.data(), re.data(), im.data(), kN, kModulus, accumulate);
    for (std::size_t i = 0; i < kN; ++i) {
      const auto a = static_cast<std::int64_t>(x[i]) % kP, b = static_cast<std::int64_t>(y[i]) % kP,
                 c = static_cast<std::int64_t>(z[i]) % kP;
      expect_residue(re[i], a - b + (accumulate ? old_re[i] : 0));
      expect_residue(im[i], c - a - b + (accumulate ? old_im[i] : 0));
    }
  }
  std::vector<double> wide(kN);
  widen(re.data(), wide.data(), kN);
  for (std::size_t i = 0; i < kN; ++i) EXPECT_EQ(wide[i], re[i]);
}

}  // namespace
}  // namespace tabane::matmul
