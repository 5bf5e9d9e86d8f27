#include "tabane/simd/triad.h"

#include <gtest/gtest.h>

#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Triad, GivesHandWorkedNumbers) {
  on_every_target([] {
    using T = double;
    const std::vector<double> one{1, 2, 3, 4, 5}, two{10, 20, 30, 40, 50};
    std::vector<double> out(5, -1.0);
    triad(one, T(7), two, out);
    EXPECT_EQ(out, (std::vector<double>{71, 142, 213, 284, 355}));
    triad(std::span<const T>(), T(7), std::span<const T>(), std::span<T>());
  });
}

// Up to the rounding that an FMA saves, here or in the plain loop: values are below 8 in size.
template <class T>
void expect_reference(Streaming streaming = {}) {
  for (const std::size_t n : awkward_sizes()) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      Placed<T> x(some_values<T>(n, 1), (offset * 3) % 8);
      Placed<T> y(some_values<T>(n, 2), (offset * 5) % 8);
      Placed<T> out(some_values<T>(n, 3), offset);
      std::vector<T> expected = out.values();
      triad_reference(x.span(), T(7), y.span(), expected);
      triad(x.span(), T(7), y.span(), out.span(), streaming);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(out.span()[i], expected[i], 16 * unit_roundoff<T>()) << n << ", " << offset;
      }
    }
  }
}

TEST(Triad, AgreesWithThePlainLoopOnEveryTargetAtEveryAlignment) {
  on_every_target([] {
    expect_reference<double>();
    expect_reference<float>();
  });
}

TEST(Triad, StreamsTheSameResult) {
  on_every_target([] {
    expect_reference<double>(Streaming::always());
    expect_reference<float>(Streaming::always());
  });
}

TEST(Triad, WorksInPlace) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
      std::vector<T> expected(n), out = x;
      triad(x, T(7), y, expected);
      triad(out, T(7), y, out);
      EXPECT_EQ(out, expected) << n;
    }
  });
}

TEST(Triad, LeavesTheNeighboursAlone) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<T> memory(offset + n + 8, T(-5));
        const auto x = some_values<T>(n, 1);
        const auto y = some_values<T>(n, 2);
        const auto out = std::span<T>(memory).subspan(offset, n);
        triad(x, T(7), y, out);
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(memory[i], T(-5)) << n;
        for (std::size_t i = offset + n; i < memory.size(); ++i) ASSERT_EQ(memory[i], T(-5)) << n;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
