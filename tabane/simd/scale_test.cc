#include "tabane/simd/scale.h"

#include <gtest/gtest.h>

#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Scale, GivesHandWorkedNumbers) {
  on_every_target([] {
    using T = double;
    const std::vector<double> one{1, 2, 3, 4, 5};
    std::vector<double> out(5, -1.0);
    scale(T(7), one, out);
    EXPECT_EQ(out, (std::vector<double>{7, 14, 21, 28, 35}));
    scale(T(7), std::span<const T>(), std::span<T>());
  });
}

template <class T>
void expect_reference(Streaming streaming = {}) {
  for (const std::size_t n : awkward_sizes()) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      Placed<T> x(some_values<T>(n, 1), (offset * 3) % 8);
      Placed<T> out(some_values<T>(n, 3), offset);
      std::vector<T> expected = out.values();
      scale_reference(T(7), x.span(), expected);
      scale(T(7), x.span(), out.span(), streaming);
      ASSERT_EQ(out.values(), expected) << n << ", " << offset;
    }
  }
}

TEST(Scale, AgreesWithThePlainLoopOnEveryTargetAtEveryAlignment) {
  on_every_target([] {
    expect_reference<double>();
    expect_reference<float>();
  });
}

TEST(Scale, StreamsTheSameResult) {
  on_every_target([] {
    expect_reference<double>(Streaming::always());
    expect_reference<float>(Streaming::always());
  });
}

TEST(Scale, WorksInPlace) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      const auto x = some_values<T>(n, 1);
      std::vector<T> expected(n), out = x;
      scale(T(7), x, expected);
      scale(T(7), out, out);
      EXPECT_EQ(out, expected) << n;
    }
  });
}

TEST(Scale, LeavesTheNeighboursAlone) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<T> memory(offset + n + 8, T(-5));
        const auto x = some_values<T>(n, 1);

        const auto out = std::span<T>(memory).subspan(offset, n);
        scale(T(7), x, out);
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(memory[i], T(-5)) << n;
        for (std::size_t i = offset + n; i < memory.size(); ++i) ASSERT_EQ(memory[i], T(-5)) << n;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
