#include "tabane/simd/axpy.h"

#include <gtest/gtest.h>

#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Axpy, GivesHandWorkedNumbers) {
  on_every_target([] {
    using T = double;
    const std::vector<double> one{1, 2, 3, 4, 5};
    std::vector<double> out{10, 20, 30, 40, 50};
    axpy(T(7), one, out);
    EXPECT_EQ(out, (std::vector<double>{17, 34, 51, 68, 85}));
    axpy(T(7), std::span<const T>(), std::span<T>());
  });
}

// Up to the rounding that an FMA saves, here or in the plain loop: values are below 8 in size.
template <class T>
void expect_reference() {
  for (const std::size_t n : awkward_sizes()) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      Placed<T> x(some_values<T>(n, 1), (offset * 3) % 8);
      Placed<T> out(some_values<T>(n, 3), offset);
      std::vector<T> expected = out.values();
      axpy_reference(T(7), x.span(), expected);
      axpy(T(7), x.span(), out.span());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(out.span()[i], expected[i], 16 * unit_roundoff<T>()) << n << ", " << offset;
      }
    }
  }
}

TEST(Axpy, AgreesWithThePlainLoopOnEveryTargetAtEveryAlignment) {
  on_every_target([] {
    expect_reference<double>();
    expect_reference<float>();
  });
}

TEST(Axpy, WorksInPlace) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      const auto x = some_values<T>(n, 1);
      std::vector<T> expected = x, out = x;
      axpy(T(7), x, expected);
      axpy(T(7), out, out);
      EXPECT_EQ(out, expected) << n;
    }
  });
}

TEST(Axpy, LeavesTheNeighboursAlone) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<T> memory(offset + n + 8, T(-5));
        const auto x = some_values<T>(n, 1);

        const auto out = std::span<T>(memory).subspan(offset, n);
        axpy(T(7), x, out);
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(memory[i], T(-5)) << n;
        for (std::size_t i = offset + n; i < memory.size(); ++i) ASSERT_EQ(memory[i], T(-5)) << n;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
