#include "tabane/simd/stream.h"

#include <gtest/gtest.h>

namespace tabane::simd {
namespace {

TEST(Streaming, AlwaysAndNeverMeanIt) {
  EXPECT_TRUE(Streaming::always().applies(0));
  EXPECT_FALSE(Streaming::never().applies(std::size_t{1} << 62));
}

TEST(Streaming, BeginsAtTheCallersSize) {
  const Streaming streaming{4096};
  EXPECT_FALSE(streaming.applies(4095));
  EXPECT_TRUE(streaming.applies(4096));
}

TEST(Streaming, ByDefaultBeginsAboveSmallDestinations) {
  EXPECT_GE(default_stream_bytes(), kSmallestStreamBytes);
  EXPECT_FALSE(Streaming().applies(kSmallestStreamBytes - 1));
  EXPECT_FALSE(Streaming().applies(default_stream_bytes() - 1));
  EXPECT_TRUE(Streaming().applies(default_stream_bytes()));
}

}  // namespace
}  // namespace tabane::simd
