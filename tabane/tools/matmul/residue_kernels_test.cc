#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tabane/core/random.h"
#include "tabane/tools/matmul/matrix.h"
#include "tabane/tools/matmul/residues.h"

namespace tabane::matmul {
namespace {

// The integer sum_j digits[j] 2^(bits j), as text.
std::string sum_of(const double* digits, std::size_t count, std::size_t stride, int bits,
                   const double* whole = nullptr, double quotient = 0) {
  mpz_t sum, digit;
  mpz_inits(sum, digit, nullptr);
  for (std::size_t j = count; j-- > 0;) {
    mpz_mul_2exp(sum, sum, static_cast<mp_bitcnt_t>(bits));
    mpz_set_d(digit, digits[j * stride]);
    mpz_add(sum, sum, digit);
    if (whole == nullptr) continue;
    mpz_set_d(digit, whole[j] * quotient);
    mpz_sub(sum, sum, digit);
  }
  char* const text = mpz_get_str(nullptr, 16, sum);
  const std::string result = text;
  free(text);
  mpz_clears(sum, digit, nullptr);
  return result;
}

std::string shifted(const std::vector<mp_limb_t>& limbs, std::int64_t shift, bool negative) {
  mpz_t value;
  mpz_init(value);
  mpz_import(value, limbs.size(), -1, sizeof(mp_limb_t), 0, 0, limbs.data());
  const auto bits = static_cast<mp_bitcnt_t>(std::abs(shift));
  shift < 0 ? mpz_tdiv_q_2exp(value, value, bits) : mpz_mul_2exp(value, value, bits);
  if (negative) mpz_neg(value, value);
  char* const text = mpz_get_str(nullptr, 16, value);
  const std::string result = text;
  free(text);
  mpz_clear(value);
  return result;
}

TEST(DigitSplitter, WritesTheDigitsOfAnyShift) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {1U, 2U, 8U}) {
    for (std::int64_t shift = -static_cast<std::int64_t>(64 * size) + 1; shift <= 150; ++shift) {
      std::vector<mp_limb_t> limbs(size);
      for (mp_limb_t& limb : limbs) limb = random();
      limbs.back() |= mp_limb_t{1} << 63;
      // A negative shift cuts off zeros only.
      for (std::int64_t bit = 0; bit < -shift; ++bit) {
        limbs[static_cast<std::size_t>(bit / 64)] &= ~(mp_limb_t{1} << (bit % 64));
      }
      const auto width = static_cast<std::int64_t>(64 * size) + shift;
      const auto digits = static_cast<std::size_t>((width + 23) / 24);
      DigitSplitter splitter(size, digits);
      const std::vector<Significand> numbers{
          {limbs.data(), shift, false}, {nullptr, 0, false}, {limbs.data(), shift, true}};
      std::vector<double> out(3 * splitter.stride(), NAN);
      splitter.split(numbers, out.data());
      EXPECT_EQ(sum_of(out.data(), digits, 1, 24), shifted(limbs, shift, false)) << shift;
      EXPECT_EQ(sum_of(&out[splitter.stride()], digits, 1, 24), "0");
      EXPECT_EQ(sum_of(&out[2 * splitter.stride()], digits, 1, 24), shifted(limbs, shift, true));
    }
  }
}

// Numbers in two's complement, back as text.
std::string value_of(const std::vector<mp_limb_t>& limbs) {
  std::vector<mp_limb_t> magnitude = limbs;
  const bool negative = limbs.back() >> 63 != 0;
  if (negative) mpn_neg(magnitude.data(), limbs.data(), static_cast<mp_size_t>(limbs.size()));
  return shifted(magnitude, 0, negative);
}

TEST(AddDigits, IsTheSumOfOverlappingDigits) {
  std::mt19937_64 random(2);
  for (const int bits : {8, 25, 30}) {
    for (const std::size_t digits : {1U, 2U, 5U, 43U, 64U}) {
      for (const std::size_t count : {1U, 3U, 8U, 21U}) {
        std::vector<double> wide(digits * count), quotients(count), whole(digits);
        for (double& x : wide) x = static_cast<double>(static_cast<std::int64_t>(random()) >> 12);
        for (double& x : whole) x = static_cast<double>(static_cast<std::int64_t>(random()) >> 34);
        for (double& x : quotients) x = static_cast<double>(random() % 41) - 20.2;
        const std::size_t limbs = (digits + 1) * static_cast<std::size_t>(bits) / 64 + 2;
        std::vector<mp_limb_t> out(count * limbs);
        add_digits({wide.data(), count, quotients.data(), whole, bits}, limbs, out.data());
        for (std::size_t i = 0; i < count; ++i) {
          const auto at = out.begin() + static_cast<std::ptrdiff_t>(i * limbs);
          EXPECT_EQ(value_of({at, at + static_cast<std::ptrdiff_t>(limbs)}),
                    sum_of(&wide[i], digits, count, bits, whole.data(), std::round(quotients[i])));
        }
      }
    }
  }
}

constexpr std::int64_t kP = 4194301;
constexpr Modulus kModulus{static_cast<double>(kP), 1.0 / kP};

// Of less than 2^53 - 2^26 in magnitude, also at both ends and at odd multiples of p / 2.
std::vector<double> integers(std::size_t n, std::uint64_t seed) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t draw = core::random_bits(seed, i);
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
