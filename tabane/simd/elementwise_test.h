// What holds for every kernel that computes each element of its result alone.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/simd/stream.h"
#include "tabane/simd/targets_test.h"

namespace tabane::simd {

// Sizes whose arrays fill a first-level cache or exceed it too, for one to three arrays of either
// type: other loops run there.
inline std::vector<std::size_t> sizes_of_every_loop() {
  std::vector<std::size_t> sizes = awkward_sizes();
  for (const std::size_t n : {2100, 3001, 5003, 7001, 14001, 20011}) sizes.push_back(n);
  return sizes;
}

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

}  // namespace tabane::simd
