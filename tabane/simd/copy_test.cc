#include "tabane/simd/copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Copy, GivesHandWorkedNumbers) {
  on_every_target([] {
    using T = double;
    const std::vector<double> one{1, 2, 3, 4, 5};
    std::vector<double> out(5, -1.0);
    simd::copy(one, out);
    EXPECT_EQ(out, (std::vector<double>{1, 2, 3, 4, 5}));
    simd::copy(std::span<const T>(), std::span<T>());
  });
}

template <class T>
void expect_reference(Streaming streaming = {}) {
  for (const std::size_t n : awkward_sizes()) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      Placed<T> x(some_values<T>(n, 1), (offset * 3) % 8);
      Placed<T> out(some_values<T>(n, 3), offset);
      std::vector<T> expected = out.values();
      copy_reference(x.span(), expected);
      simd::copy(x.span(), out.span(), streaming);
      ASSERT_EQ(out.values(), expected) << n << ", " << offset;
    }
  }
}

TEST(Copy, AgreesWithThePlainLoopOnEveryTargetAtEveryAlignment) {
  on_every_target([] {
    expect_reference<double>();
    expect_reference<float>();
  });
}

TEST(Copy, StreamsTheSameResult) {
  on_every_target([] {
    expect_reference<double>(Streaming::always());
    expect_reference<float>(Streaming::always());
  });
}

TEST(Copy, WorksInPlace) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      const auto x = some_values<T>(n, 1);
      std::vector<T> expected(n), out = x;
      simd::copy(x, expected);
      simd::copy(out, out);
      EXPECT_EQ(out, expected) << n;
    }
  });
}

TEST(Copy, LeavesTheNeighboursAlone) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<T> memory(offset + n + 8, T(-5));
        const auto x = some_values<T>(n, 1);

        const auto out = std::span<T>(memory).subspan(offset, n);
        simd::copy(x, out);
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(memory[i], T(-5)) << n;
        for (std::size_t i = offset + n; i < memory.size(); ++i) ASSERT_EQ(memory[i], T(-5)) << n;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
