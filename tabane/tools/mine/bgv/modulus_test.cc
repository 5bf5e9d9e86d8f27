#include "tabane/tools/mine/bgv/modulus.h"

#include <gtest/gtest.h>

#include <functional>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/material_test.h"

namespace tabane::mine::bgv {
namespace {

TEST(BgvModulus, RefusesWhatIsNone) {
  EXPECT_THROW(Modulus(0), core::UsageError);
  EXPECT_THROW(Modulus(1), core::UsageError);
  EXPECT_THROW(Modulus(std::uint64_t{1} << 50), core::UsageError);
  EXPECT_EQ(Modulus((std::uint64_t{1} << 50) - 1).value(), (std::uint64_t{1} << 50) - 1);
}

TEST(BgvModulus, HandWorked) {
  const Modulus m(17);
  EXPECT_EQ(m.reduce(0), 0u);
  EXPECT_EQ(m.reduce(17), 0u);
  EXPECT_EQ(m.reduce(~std::uint64_t{0}), 0u);  // 2^64 - 1 = 15 * 17 * …
  EXPECT_EQ(m.reduce(~std::uint64_t{0} - 1), 16u);
  EXPECT_EQ(m.reduce_signed(-1), 16u);
  EXPECT_EQ(m.reduce_signed(-34), 0u);
  EXPECT_EQ(m.add(9, 8), 0u);
  EXPECT_EQ(m.subtract(3, 5), 15u);
  EXPECT_EQ(m.negate(0), 0u);
  EXPECT_EQ(m.multiply(5, 7), 1u);
  EXPECT_EQ(m.inverse(5), 7u);
  EXPECT_EQ(m.power(3, 16), 1u);
  EXPECT_EQ(m.centred(8), 8);
  EXPECT_EQ(m.centred(9), -8);
}

TEST(BgvModulus, PreparedProductsAreProducts) {
  const Modulus m(1125899906842597);  // the largest prime below 2^50
  for (std::uint64_t a = 1; a < m.value(); a = a * 3 + 1) {
    const std::uint64_t b = m.reduce(a * 0x9E3779B97F4A7C15);
    EXPECT_EQ(m.multiply_prepared(a, b, m.prepare(b)), m.multiply(a, b));
    EXPECT_EQ(m.multiply(a, m.inverse(a)), 1u);
  }
  EXPECT_EQ(m.multiply_prepared(~std::uint64_t{0}, 5, m.prepare(5)),
            m.multiply(m.reduce(~std::uint64_t{0}), 5));
}

TEST(BgvModulus, PrimesAreThoseOfASieve) {
  constexpr std::size_t kEnd = 20000;
  std::vector<bool> composite(kEnd);
  for (std::size_t n = 2; n < kEnd; ++n) {
    EXPECT_EQ(is_prime(n), !composite[n]) << n;
    for (std::size_t m = n * n; m < kEnd && !composite[n]; m += n) composite[m] = true;
  }
  EXPECT_FALSE(is_prime(0));
  EXPECT_FALSE(is_prime(1));
  EXPECT_TRUE(is_prime(1125899906842597));
  EXPECT_FALSE(is_prime(3215031751));           // a strong pseudoprime to 2, 3, 5 and 7
  EXPECT_FALSE(is_prime(3825123056546413051));  // and to all up to 23
}

TEST(BgvModulus, FindsPrimesOfAKind) {
  EXPECT_EQ(next_prime_one_modulo(8192, 65536), 65537u);
  // Those of the report's number of transactions.
  EXPECT_EQ(next_prime_one_modulo(8192, 1943424), 1990657u);
  EXPECT_EQ(next_prime_one_modulo(16384, 1943424), 2277377u);
  EXPECT_EQ(next_prime_one_modulo(32768, 1943424), 2424833u);
  const auto primes = primes_one_modulo(16384, 50, 5);
  ASSERT_EQ(primes.size(), 5u);
  for (std::size_t i = 0; i < primes.size(); ++i) {
    EXPECT_TRUE(is_prime(primes[i]));
    EXPECT_EQ(primes[i] % 16384, 1u);
    EXPECT_EQ(primes[i] >> 49, 1u);
    EXPECT_TRUE(i == 0 || primes[i] < primes[i - 1]);
  }
  EXPECT_EQ(primes_one_modulo(8, 5, 100), (std::vector<std::uint64_t>{17}));
  EXPECT_TRUE(primes_one_modulo(64, 5, 1).empty());
}

TEST(BgvModulus, RootsHaveTheirOrder) {
  const Modulus m(65537);
  for (const std::uint64_t order : {2u, 4u, 1024u, 65536u}) {
    const std::uint64_t root = root_of_unity(m, order);
    EXPECT_EQ(m.power(root, order), 1u);
    EXPECT_EQ(m.power(root, order / 2), 65536u);
  }
}

const std::vector<std::uint64_t> kModuli = {2, 3, 17, 65537, (std::uint64_t{1} << 50) - 27};

// Residues with the extremes among them.
Words residues(std::size_t n, std::uint64_t p, std::uint64_t start) {
  Words words = random_residues(n, p, start);
  if (n > 0) words[0] = start % 2 == 0 ? p - 1 : 0;
  if (n > 1) words[1] = p - 1;
  if (n > 2) words[2] = p / 2;
  return words;
}

using Operation = std::function<void(const Modulus&, ConstResidues, ConstResidues, Residues)>;

void expect_same(const Operation& fast, const Operation& plain) {
  for (const std::uint64_t p : kModuli) {
    const Modulus m(p);
    for (const std::size_t n : {0u, 1u, 7u, 8u, 33u, 100u}) {
      const Words a = residues(n, p, 2), b = residues(n, p, 4), old = residues(n, p, 6);
      Words expected = old;
      plain(m, a, b, expected);
      on_every_target([&] {
        Words out = old;
        fast(m, a, b, out);
        EXPECT_EQ(out, expected) << p << ' ' << n;
      });
    }
  }
}

// The operation of single values, element by element.
Operation each(std::uint64_t (Modulus::*of)(std::uint64_t, std::uint64_t) const) {
  return [of](const Modulus& m, ConstResidues a, ConstResidues b, Residues out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (m.*of)(a[i], b[i]);
  };
}

TEST(BgvPointwise, AddsAndSubtracts) {
  expect_same(add, each(&Modulus::add));
  expect_same(subtract, each(&Modulus::subtract));
}

TEST(BgvPointwise, Multiplies) {
  expect_same(multiply, each(&Modulus::multiply));
  expect_same(multiply_add, [](const Modulus& m, ConstResidues a, ConstResidues b, Residues out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = m.add(out[i], m.multiply(a[i], b[i]));
  });
}

TEST(BgvPointwise, Scales) {
  for (const std::uint64_t which : {0, 1, 2, 3}) {
    const auto factor = [which](const Modulus& m) {
      return std::vector<std::uint64_t>{0, 1 % m.value(), m.value() / 2, m.value() - 1}[which];
    };
    expect_same([&](const Modulus& m, ConstResidues a, ConstResidues,
                    Residues out) { scale(m, a, factor(m), out); },
                [&](const Modulus& m, ConstResidues a, ConstResidues, Residues out) {
                  for (std::size_t i = 0; i < out.size(); ++i) {
                    out[i] = m.multiply(a[i], factor(m));
                  }
                });
  }
}

TEST(BgvPointwise, LiftsCentred) {
  for (const std::uint64_t q : kModuli) {
    const Modulus from(q);
    for (const std::uint64_t p : kModuli) {
      const Modulus to(p);
      const Words a = residues(100, q, 2);
      Words expected(100);
      for (std::size_t i = 0; i < 100; ++i) expected[i] = to.reduce_signed(from.centred(a[i]));
      on_every_target([&] {
        Words out(100);
        lift_centred(from, a, to, out);
        EXPECT_EQ(out, expected) << q << ' ' << p;
      });
    }
  }
}

TEST(BgvPointwise, HandWorked) {
  const Modulus m(17);
  const Words a{3, 16, 0, 9}, b{15, 16, 0, 8};
  Words out{1, 1, 1, 1};
  multiply_add(m, a, b, out);
  EXPECT_EQ(out, (Words{12, 2, 1, 5}));
  lift_centred(m, a, Modulus(5), out);
  EXPECT_EQ(out, (Words{3, 4, 0, 2}));  // 3, -1, 0, -8
}

}  // namespace
}  // namespace tabane::mine::bgv
