#include "tabane/crypto/wipe.h"

#include <gtest/gtest.h>

#include <array>

namespace tabane::crypto {
namespace {

TEST(Wipe, OverwritesAllBytesAndNoOther) {
  std::array<std::byte, 40> bytes;
  bytes.fill(std::byte{7});
  wipe(std::span(bytes).subspan(3, 30));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(bytes[i], i < 3 || i >= 33 ? std::byte{7} : std::byte{0}) << i;
  }
  wipe({});
}

}  // namespace
}  // namespace tabane::crypto
