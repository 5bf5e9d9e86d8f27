#include "tabane/simd/set.h"

#include <gtest/gtest.h>

#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Set, GivesHandWorkedNumbers) {
  on_every_target([] {
    using T = double;
    std::vector<double> out(5, -1.0);
    set(out, T(7));
    EXPECT_EQ(out, (std::vector<double>{7, 7, 7, 7, 7}));
    set(std::span<T>(), T(7));
  });
}

template <class T>
void expect_reference(Streaming streaming = {}) {
  for (const std::size_t n : awkward_sizes()) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      Placed<T> out(some_values<T>(n, 3), offset);
      std::vector<T> expected = out.values();
      set_reference(expected, T(7));
      set(out.span(), T(7), streaming);
      ASSERT_EQ(out.values(), expected) << n << ", " << offset;
    }
  }
}

TEST(Set, AgreesWithThePlainLoopOnEveryTargetAtEveryAlignment) {
  on_every_target([] {
    expect_reference<double>();
    expect_reference<float>();
  });
}

TEST(Set, StreamsTheSameResult) {
  on_every_target([] {
    expect_reference<double>(Streaming::always());
    expect_reference<float>(Streaming::always());
  });
}

TEST(Set, LeavesTheNeighboursAlone) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<T> memory(offset + n + 8, T(-5));

        const auto out = std::span<T>(memory).subspan(offset, n);
        set(out, T(7));
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(memory[i], T(-5)) << n;
        for (std::size_t i = offset + n; i < memory.size(); ++i) ASSERT_EQ(memory[i], T(-5)) << n;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
