#include "tabane/tools/matmul/residues.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tabane/core/error.h"
#include "tabane/tools/matmul/operands.h"

namespace tabane::matmul {
namespace {

bool is_prime(long n) {
  for (long d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

TEST(MpModuli, AreDistinctPrimesWhoseProductsOfDoublesAreExact) {
  for (const int terms : {1, 24, 1000, 2048, 5000}) {
    for (const std::int64_t width : {2, 128, 1100, 9000}) {
      const Moduli moduli = make_moduli(terms, 1, width, width);
      std::set<double> seen;
      double bits = 0;
      for (const double p : moduli.primes) {
        EXPECT_TRUE(is_prime(static_cast<long>(p))) << p;
        EXPECT_TRUE(seen.insert(p).second);
        bits += std::log2(p);
        EXPECT_LT(terms_at_once(terms) * (p / 2 + 2) * (p / 2 + 2) + p, 0x1p53);
        const double digits = std::min(moduli.a_digits, kMostDigitsAtOnce);
        EXPECT_LT(digits * 0x1p24 * (p / 2 + 2) + p, 0x1p53);
        const double out = std::ldexp(1, moduli.out_bits - 1);
        EXPECT_LT(moduli.count() * (p / 2 + 3) * out, 0x1p53);
      }
      EXPECT_GT(bits, 2.0 * static_cast<double>(width) + std::log2(terms) + 2);
    }
  }
}

TEST(MpModuli, RebuildWhatResiduesStandFor) {
  const Moduli moduli = make_moduli(100, 1, 150, 150);
  Rebuild rebuild(moduli);
  for (const long value : {0L, 1L, -1L, 123456789123L, -987654321987654321L}) {
    // b's constants hold the weights: their first one is that of 1.
    std::vector<std::int32_t> residues;
    for (int p = 0; p < moduli.count(); ++p) {
      const auto at = static_cast<std::size_t>(p);
      const auto prime = static_cast<std::int64_t>(moduli.primes[at]);
      const auto weight =
          static_cast<std::int64_t>(moduli.into_b[at * static_cast<std::size_t>(moduli.b_digits)]);
      std::int64_t residue = (value % prime) * weight % prime;
      if (residue > prime / 2) residue -= prime;
      if (residue < -prime / 2) residue += prime;
      residues.push_back(static_cast<std::int32_t>(residue));
    }
    rebuild.compute(residues.data(), 1, 1);
    const SignedLimbs limbs = magnitude_of(rebuild.integer(0));
    if (value == 0) {
      EXPECT_TRUE(limbs.magnitude.empty());
      continue;
    }
    ASSERT_EQ(limbs.magnitude.size(), 1U);
    EXPECT_EQ(limbs.negative, value < 0);
    EXPECT_EQ(limbs.magnitude[0], static_cast<mp_limb_t>(std::abs(value)));
  }
}

TEST(MpModuli, SayWhenThereAreNotEnough) {
  EXPECT_THROW(make_moduli(2000, 1, 1 << 24, 1 << 24), core::UsageError);
}

}  // namespace
}  // namespace tabane::matmul
