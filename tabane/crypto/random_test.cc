#include "tabane/crypto/random.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/crypto/test_bytes.h"

namespace tabane::crypto {
namespace {

TEST(FillRandom, FillsAllBytesAndNeverTheSameWay) {
  for (const std::size_t n : {0, 1, 31, 32, 1000}) {
    Bytes sum(n + 1);
    for (int i = 0; i < 20; ++i) {
      Bytes bytes(n + 1);
      fill_random(std::span(bytes).first(n));
      EXPECT_EQ(bytes[n], std::byte{0});
      for (std::size_t k = 0; k < n; ++k) sum[k] |= bytes[k];
    }
    EXPECT_FALSE(std::ranges::any_of(std::span(sum).first(n),
                                     [](std::byte b) { return b == std::byte{0}; }));
  }
  Bytes one(32), other(32);
  fill_random(one);
  fill_random(other);
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace tabane::crypto
