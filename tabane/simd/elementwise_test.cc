#include "tabane/simd/elementwise.h"

#include <gtest/gtest.h>

#include "tabane/simd/compressible_test.h"
#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

// Kernel: type Element; run(x, y, out, streaming) and reference(x, y, out), each of which leaves
// out what the kernel does not take; hand_worked(), the result for x = 1…5, y = 10…50 and out = y;
// ways(), the ways of storing that it has; kTolerance, in units of rounding.
template <class Kernel>
class Elementwise : public testing::Test {};
TYPED_TEST_SUITE_P(Elementwise);

TYPED_TEST_P(Elementwise, GivesHandWorkedNumbers) {
  using T = typename TypeParam::Element;
  on_every_target_and_habit([] {
    const std::vector<T> x{1, 2, 3, 4, 5}, y{10, 20, 30, 40, 50};
    std::vector<T> out = y;
    TypeParam::run(x, y, out, {});
    EXPECT_EQ(out, TypeParam::hand_worked());
    TypeParam::run({}, {}, {}, {});
  });
}

TYPED_TEST_P(Elementwise, AgreesWithThePlainLoopAtEveryAlignmentInEveryWayOfStoring) {
  using T = typename TypeParam::Element;
  on_every_target_and_habit([] {
    for (const std::size_t n : sizes_of_every_loop()) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        Placed<T> x(some_values<T>(n, 1), (offset * 3) % 8);
        Placed<T> y(some_values<T>(n, 2), (offset * 5) % 8);
        for (const Streaming way : TypeParam::ways()) {
          Placed<T> out(some_values<T>(n, 3), offset);
          std::vector<T> expected = out.values();
          TypeParam::reference(x.span(), y.span(), expected);
          TypeParam::run(x.span(), y.span(), out.span(), way);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_NEAR(out.span()[i], expected[i], TypeParam::kTolerance * unit_roundoff<T>())
                << n << ", " << offset;
          }
        }
      }
    }
  });
}

TYPED_TEST_P(Elementwise, WorksInPlace) {
  using T = typename TypeParam::Element;
  on_every_target_and_habit([] {
    for (const std::size_t n : sizes_of_every_loop()) {
      const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
      std::vector<T> expected = x, out = x;
      TypeParam::run(x, y, expected, {});
      TypeParam::run(out, y, out, {});
      EXPECT_EQ(out, expected) << n;
    }
  });
}

TYPED_TEST_P(Elementwise, LeavesTheNeighboursAlone) {
  using T = typename TypeParam::Element;
  on_every_target_and_habit([] {
    for (const std::size_t n : sizes_of_every_loop()) {
      const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<T> memory(offset + n + 8, T(-5));
        TypeParam::run(x, y, std::span<T>(memory).subspan(offset, n), {});
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(memory[i], T(-5)) << n;
        for (std::size_t i = offset + n; i < memory.size(); ++i) ASSERT_EQ(memory[i], T(-5)) << n;
      }
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(Elementwise, GivesHandWorkedNumbers,
                            AgreesWithThePlainLoopAtEveryAlignmentInEveryWayOfStoring, WorksInPlace,
                            LeavesTheNeighboursAlone);

template <class T>
struct Set {
  using Element = T;
  static void run(In<T>, In<T>, std::span<T> out, Streaming streaming) {
    set(out, T(7), streaming);
  }
  static void reference(In<T>, In<T>, std::span<T> out) { set_reference(out, T(7)); }
  static std::vector<T> hand_worked() { return {7, 7, 7, 7, 7}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Set, Elementwise, InBothTypes<Set>, ElementName);

template <class T>
struct Copy {
  using Element = T;
  static void run(In<T> x, In<T>, std::span<T> out, Streaming streaming) {
    simd::copy(x, out, streaming);
  }
  static void reference(In<T> x, In<T>, std::span<T> out) { copy_reference(x, out); }
  static std::vector<T> hand_worked() { return {1, 2, 3, 4, 5}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Copy, Elementwise, InBothTypes<Copy>, ElementName);

template <class T>
struct Scale {
  using Element = T;
  static void run(In<T> x, In<T>, std::span<T> out, Streaming streaming) {
    scale(T(7), x, out, streaming);
  }
  static void reference(In<T> x, In<T>, std::span<T> out) { scale_reference(T(7), x, out); }
  static std::vector<T> hand_worked() { return {7, 14, 21, 28, 35}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Scale, Elementwise, InBothTypes<Scale>, ElementName);

template <class T>
struct Add {
  using Element = T;
  static void run(In<T> x, In<T> y, std::span<T> out, Streaming streaming) {
    add(x, y, out, streaming);
  }
  static void reference(In<T> x, In<T> y, std::span<T> out) { add_reference(x, y, out); }
  static std::vector<T> hand_worked() { return {11, 22, 33, 44, 55}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Add, Elementwise, InBothTypes<Add>, ElementName);

template <class T>
struct Triad {
  using Element = T;
  static void run(In<T> x, In<T> y, std::span<T> out, Streaming streaming) {
    triad(x, T(7), y, out, streaming);
  }
  static void reference(In<T> x, In<T> y, std::span<T> out) { triad_reference(x, T(7), y, out); }
  static std::vector<T> hand_worked() { return {71, 142, 213, 284, 355}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  // What an FMA saves, here or in the plain loop: values are below 8 in size.
  static constexpr double kTolerance = 16;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Triad, Elementwise, InBothTypes<Triad>, ElementName);

template <class T>
struct Axpy {
  using Element = T;
  static void run(In<T> x, In<T>, std::span<T> out, Streaming) { axpy(T(7), x, out); }
  static void reference(In<T> x, In<T>, std::span<T> out) { axpy_reference(T(7), x, out); }
  static std::vector<T> hand_worked() { return {17, 34, 51, 68, 85}; }
  static std::vector<Streaming> ways() { return {Streaming()}; }
  // What an FMA saves, here or in the plain loop: values are below 8 in size.
  static constexpr double kTolerance = 16;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Axpy, Elementwise, InBothTypes<Axpy>, ElementName);

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
