#include "tabane/simd/add.h"

#include <gtest/gtest.h>

#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Add, GivesHandWorkedNumbers) {
  on_every_target([] {
    using T = double;
    const std::vector<double> one{1, 2, 3, 4, 5}, two{10, 20, 30, 40, 50};
    std::vector<double> out(5, -1.0);
    add(one, two, out);
    EXPECT_EQ(out, (std::vector<double>{11, 22, 33, 44, 55}));
    add(std::span<const T>(), std::span<const T>(), std::span<T>());
  });
}

template <class T>
void expect_reference(Streaming streaming = {}) {
  for (const std::size_t n : awkward_sizes()) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      Placed<T> x(some_values<T>(n, 1), (offset * 3) % 8);
      Placed<T> y(some_values<T>(n, 2), (offset * 5) % 8);
      Placed<T> out(some_values<T>(n, 3), offset);
      std::vector<T> expected = out.values();
      add_reference(x.span(), y.span(), expected);
      add(x.span(), y.span(), out.span(), streaming);
      ASSERT_EQ(out.values(), expected) << n << ", " << offset;
    }
  }
}

TEST(Add, AgreesWithThePlainLoopOnEveryTargetAtEveryAlignment) {
  on_every_target([] {
    expect_reference<double>();
    expect_reference<float>();
  });
}

TEST(Add, StreamsTheSameResult) {
  on_every_target([] {
    expect_reference<double>(Streaming::always());
    expect_reference<float>(Streaming::always());
  });
}

TEST(Add, WorksInPlace) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
      std::vector<T> expected(n), out = x;
      add(x, y, expected);
      add(out, y, out);
      EXPECT_EQ(out, expected) << n;
    }
  });
}

TEST(Add, LeavesTheNeighboursAlone) {
  on_every_target([] {
    using T = double;
    for (const std::size_t n : awkward_sizes()) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<T> memory(offset + n + 8, T(-5));
        const auto x = some_values<T>(n, 1);
        const auto y = some_values<T>(n, 2);
        const auto out = std::span<T>(memory).subspan(offset, n);
        add(x, y, out);
        for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(memory[i], T(-5)) << n;
        for (std::size_t i = offset + n; i < memory.size(); ++i) ASSERT_EQ(memory[i], T(-5)) << n;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
