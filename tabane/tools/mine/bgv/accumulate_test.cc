#include "tabane/tools/mine/bgv/material_test.h"
#include "tabane/tools/mine/bgv/product_sum.h"

namespace tabane::mine::bgv {
namespace {

__extension__ using Wide = __int128;

struct OwnedSums {
  explicit OwnedSums(std::size_t n) : high(3 * n, 0), low(3 * n, 0) {}
  SumWords sums() {
    const std::size_t n = high.size() / 3;
    SumWords sums{};
    for (std::size_t c = 0; c < 3; ++c) {
      sums.high[c] = &high[c * n];
      sums.low[c] = &low[c * n];
    }
    return sums;
  }
  // The number that the two words stand for.
  Wide value(std::size_t i) const {
    return static_cast<Wide>(static_cast<std::int64_t>(high[i])) * (Wide(1) << kLowBits) + low[i];
  }
  std::vector<std::uint64_t> high;
  std::vector<std::int64_t> low;
};

struct OwnedOperands {
  OwnedOperands(std::size_t n, std::uint64_t p, std::uint64_t start)
      : a0(random_residues(n, p, start)),
        a1(random_residues(n, p, start + 1)),
        b0(random_residues(n, p, start + 2)),
        b1(random_residues(n, p, start + 3)) {}
  FactorResidues factors() const { return {a0.data(), a1.data(), b0.data(), b1.data()}; }
  Words a0, a1, b0, b1;
};

struct OwnedFactors {
  OwnedFactors(std::size_t n, std::uint64_t p) {
    for (std::uint64_t k = 0; k < 5; ++k) operands.emplace_back(n, p, 10 * k);
    for (const OwnedOperands& each : operands) all.push_back(each.factors());
  }
  // Of elements first to last - 1.
  OwnedSums reference(std::size_t n, std::size_t first, std::size_t last) const {
    OwnedSums sums(n);
    for (const FactorResidues& each : all) accumulate_reference(each, first, last, sums.sums());
    return sums;
  }
  std::vector<OwnedOperands> operands;
  std::vector<FactorResidues> all;
};

constexpr std::uint64_t kLargest = (std::uint64_t{1} << 50) - 27;
constexpr std::uint64_t kPrimes[] = {2, 65537, kLargest};

TEST(BgvAccumulate, EveryTargetGivesTheReferencesSums) {
  const std::size_t n = 64;
  for (const std::uint64_t p : kPrimes) {
    const OwnedFactors owned(n, p);
    const std::vector<FactorResidues>& factors = owned.all;
    const OwnedSums expected = owned.reference(n, 8, 56);
    on_every_target([&] {
      OwnedSums sums(n);
      for (const FactorResidues& each : factors) accumulate(each, 8, 56, sums.sums());
      for (std::size_t i = 0; i < 3 * n; ++i) EXPECT_TRUE(sums.value(i) == expected.value(i)) << i;
    });
  }
}

TEST(BgvAccumulate, PackedProductsAreTheSame) {
  const std::size_t n = 24;
  for (const std::uint64_t p : kPrimes) {
    const OwnedFactors owned(n, p);
    const std::vector<FactorResidues>& factors = owned.all;
    const OwnedSums expected = owned.reference(n, 8, n);
    on_every_target([&] {
      if (!has_packed()) return;
      // Two groups of 8 from the second on: [group][factor].
      const std::size_t stride = factors.size() * kPacked;
      std::vector<double> a(2 * stride), b(2 * stride);
      for (std::size_t k = 0; k < factors.size(); ++k) {
        pack(factors[k].a0 + 8, factors[k].a1 + 8, 2, stride, &a[k * kPacked]);
        pack(factors[k].b0 + 8, factors[k].b1 + 8, 2, stride, &b[k * kPacked]);
      }
      OwnedSums sums(n);
      for (std::size_t group = 0; group < 2; ++group) {
        const double *const x = &a[group * stride], *const y = &b[group * stride];
        accumulate_packed(x, y, 2, 8 + 8 * group, sums.sums());
        accumulate_packed(x + 2 * kPacked, y + 2 * kPacked, 3, 8 + 8 * group, sums.sums());
      }
      for (std::size_t i = 0; i < 3 * n; ++i) EXPECT_TRUE(sums.value(i) == expected.value(i)) << i;
    });
  }
}

TEST(BgvAccumulate, HoldsAsManyOfTheLargestProductsAsItSays) {
  const std::size_t n = 8;
  const Words largest(n, kLargest - 1);
  const FactorResidues factors{largest.data(), largest.data(), largest.data(), largest.data()};
  const Wide product = static_cast<Wide>(kLargest - 1) * (kLargest - 1);
  on_every_target([&] {
    for (const bool packed : {false, true}) {
      OwnedSums sums(n);
      if (packed && has_packed()) {
        std::vector<double> a(kMostProducts * kPacked);
        for (std::size_t k = 0; k < kMostProducts; ++k) {
          pack(largest.data(), largest.data(), 1, 0, &a[k * kPacked]);
        }
        accumulate_packed(a.data(), a.data(), kMostProducts, 0, sums.sums());
      } else {
        for (std::size_t k = 0; k < kMostProducts; ++k) accumulate(factors, 0, n, sums.sums());
      }
      EXPECT_TRUE(sums.value(0) == product * Wide(kMostProducts));
      EXPECT_TRUE(sums.value(n) == 2 * product * Wide(kMostProducts));
      Words out(n);
      const Modulus m(kLargest);
      reduce_sums(m, &sums.high[n], &sums.low[n], n, out.data());
      EXPECT_EQ(out, Words(n, 2 * kMostProducts));  // (-1)(-1) so many times
    }
  });
}

TEST(BgvAccumulate, ReducesNegativeWords) {
  const Modulus m(kLargest);
  const std::vector<std::uint64_t> high{1, 0, 5, ~std::uint64_t{0}, std::uint64_t{1} << 62};
  const std::vector<std::int64_t> low{-1, -1, -(std::int64_t{1} << 62), 5, -7};
  Words out(5);
  reduce_sums(m, high.data(), low.data(), 5, out.data());
  for (std::size_t i = 0; i < 5; ++i) {
    const Wide value =
        static_cast<Wide>(static_cast<std::int64_t>(high[i])) * (Wide(1) << kLowBits) + low[i];
    const Wide p = kLargest;
    EXPECT_TRUE(static_cast<Wide>(out[i]) == (value % p + p) % p) << i;
  }
}

TEST(BgvAccumulate, AddsResidues) {
  const Words a{1, 2, kLargest - 1};
  std::vector<std::int64_t> low{-5, 0, 1};
  accumulate(a.data(), 3, low.data());
  EXPECT_EQ(low, (std::vector<std::int64_t>{-4, 2, static_cast<std::int64_t>(kLargest)}));
}

}  // namespace
}  // namespace tabane::mine::bgv
