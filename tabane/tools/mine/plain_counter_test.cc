#include "tabane/tools/mine/plain_counter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <string>

#include "tabane/simd/target.h"

namespace tabane::mine {
namespace {

std::vector<std::uint64_t> words(std::size_t n, std::uint64_t seed) {
  std::vector<std::uint64_t> all(n);
  for (std::uint64_t& word : all) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    word = seed ^ seed >> 29;
  }
  return all;
}

std::uint64_t ones_in(const std::vector<std::uint64_t>& words) {
  std::uint64_t ones = 0;
  for (const std::uint64_t word : words) ones += static_cast<std::uint64_t>(std::popcount(word));
  return ones;
}

TEST(Bits, HandWorkedWords) {
  const std::vector<std::uint64_t> a{0xff, 0, ~std::uint64_t{0}}, b{0x0f, 1, 1};
  EXPECT_EQ(count_common_bits(a, a), 72);
  EXPECT_EQ(count_common_bits(a, b), 5);
  EXPECT_EQ(count_common_bits({}, {}), 0);
}

TEST(Bits, EveryTargetCountsAsThePlainLoop) {
  for (const std::string& name : simd::target_names()) {
    SCOPED_TRACE(name);
    const simd::ScopedTarget target(name);
    for (const std::size_t n : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 1000, 1025}) {
      const auto a = words(n, 1), b = words(n, 2);
      std::vector<std::uint64_t> out(n), expected(n);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = a[i] & b[i];
      common_bits(a, b, out);
      EXPECT_EQ(out, expected) << n;
      EXPECT_EQ(count_common_bits(a, a), ones_in(a)) << n;
      EXPECT_EQ(count_common_bits(a, b), ones_in(expected)) << n;
    }
  }
}

}  // namespace
}  // namespace tabane::mine
