#include "tabane/simd/generate.h"

#include <cmath>

#include "tabane/simd/compressible_test.h"
#include "tabane/simd/elementwise_test.h"

namespace tabane::simd {
namespace {

struct Generate {
  using Element = double;
  static void run(In<double>, In<double>, std::span<double> out, Streaming streaming) {
    generate(out, streaming);
  }
  static void reference(In<double>, In<double>, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = generated(i);
  }
  // 1 + the fraction of i times 0.6180339887…
  static std::vector<double> hand_worked() {
    return {generated(0), generated(1), generated(2), generated(3), generated(4)};
  }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Generate, Elementwise, testing::Types<Generate>, ElementName);

TEST(Generated, AreFractionsOfMultiplesOfTheGoldenRatio) {
  EXPECT_EQ(generated(0), 1.0);
  EXPECT_NEAR(generated(1), 1.6180339887498949, 1e-15);
  EXPECT_NEAR(generated(2), 1.2360679774997898, 1e-15);
}

TEST(Generate, LeavesNoLineThatHardwareCouldMakeShorter) {
  std::vector<double> values(1 << 16);
  EXPECT_EQ(compressible_lines(values), values.size() / 8);
  generate(values);
  EXPECT_EQ(compressible_lines(values), 0u);
  for (const double v : values) ASSERT_TRUE(v >= 1 && v < 2);
}

TEST(GeneratedBytes, AreAsManyAsAskedFor) {
  EXPECT_TRUE(generated_bytes(0).empty());
  EXPECT_EQ(generated_bytes(13).size(), 13u);
  EXPECT_NE(generated_bytes(16)[14], std::byte{0});
}

}  // namespace
}  // namespace tabane::simd
