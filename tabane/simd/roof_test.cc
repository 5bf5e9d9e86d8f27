#include "tabane/simd/roof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "tabane/simd/compressible_test.h"
#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

constexpr double kGuard = -5;

// What a pass must leave in a. left: what it has left there; it chooses itself what it only writes.
std::vector<double> expected(Traffic traffic, const std::vector<double>& left,
                             const std::vector<double>& a, const std::vector<double>& b,
                             const std::vector<double>& c) {
  switch (traffic) {
    case Traffic::read:
      return a;
    case Traffic::write:
      return left;
    case Traffic::read_write:
      return b;
    case Traffic::read2_write:
      return c;
  }
  return {};
}

// f(roof) for each loop that this machine should run, on every target.
template <class F>
void with_every_roof(F f) {
  on_every_target([&] {
    for (const Roof& roof : roofs()) {
      if (roof.available && !roof.available()) continue;
      SCOPED_TRACE(std::string(roof.name) + ", traffic " +
                   std::to_string(static_cast<int>(roof.traffic)));
      f(roof);
    }
  });
}

TEST(Roofs, MoveWhatTheySayAndNothingElse) {
  with_every_roof([](const Roof& roof) {
    auto sizes = awkward_sizes();
    for (const std::size_t n : {2047, 4608, 9001}) sizes.push_back(n);  // with pages
    for (const std::size_t n : sizes) {
      const auto a = some_values<double>(n, 1), b = some_values<double>(n, 2),
                 c = some_values<double>(n, 3);
      const std::size_t offset = n % 8;
      std::vector<double> memory(offset + n + 8, kGuard);
      std::ranges::copy(a, memory.begin() + static_cast<std::ptrdiff_t>(offset));
      Placed<double> from_b(b, n % 5), from_c(c, n % 7);
      roof.run(memory.data() + offset, from_b.span().data(), from_c.span().data(), n, 1);
      const std::span<double> left = std::span(memory).subspan(offset, n);
      std::vector<double> whole(offset, kGuard);
      for (const double v : expected(roof.traffic, {left.begin(), left.end()}, a, b, c))
        whole.push_back(v);
      whole.resize(memory.size(), kGuard);
      ASSERT_EQ(memory, whole) << n;
      ASSERT_EQ(from_b.values(), b) << n;
      ASSERT_EQ(from_c.values(), c) << n;
    }
  });
}

TEST(Roofs, WriteNumbersThatNoHardwareCanMakeShorter) {
  with_every_roof([](const Roof& roof) {
    if (roof.traffic != Traffic::write) return;
    for (const std::size_t n : {std::size_t{1}, std::size_t{1023}, std::size_t{1} << 18}) {
      std::vector<double> a(n, kGuard);
      roof.run(a.data(), nullptr, nullptr, n, 1);
      for (const double v : a) ASSERT_TRUE(v >= 1 && v < 2) << n;
      if (roof.name == "rep stosq") {
        std::vector<double> again = a;
        roof.run(again.data(), nullptr, nullptr, n, 1);
        EXPECT_NE(again, a) << n;
      } else {
        EXPECT_EQ(compressible_lines(a), 0u) << n;
      }
    }
  });
}

TEST(Roofs, MakeAsManyPassesAsAsked) {
  with_every_roof([](const Roof& roof) {
    const std::size_t n = std::size_t{1} << 12;
    const std::vector<double> b = some_values<double>(n, 1), c = some_values<double>(n, 2);
    std::vector<double> a(n, kGuard);
    roof.run(a.data(), b.data(), c.data(), n, 0);
    EXPECT_EQ(a, std::vector<double>(n, kGuard));
    // The shortest of several times, as another program may interrupt.
    const auto shortest = [&](std::uint64_t passes) {
      auto best = std::chrono::nanoseconds::max();
      for (int i = 0; i < 5; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        roof.run(a.data(), b.data(), c.data(), n, passes);
        best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begin);
      }
      return best;
    };
    EXPECT_GT(shortest(64), 2 * shortest(1));
  });
}

TEST(Roofs, ReadTheirLastOperandInPlace) {
  with_every_roof([](const Roof& roof) {
    if (roof.traffic != Traffic::read2_write) return;
    for (const std::size_t n : {64, 1023}) {
      const auto values = some_values<double>(n, 1);
      std::vector<double> a = values;
      const std::vector<double> b(n, 1.0);
      roof.run(a.data(), b.data(), a.data(), n, 1);
      ASSERT_EQ(a, values) << n;
    }
  });
}

TEST(Roofs, LeaveMissingOperandsAlone) {
  with_every_roof([](const Roof& roof) {
    std::vector<double> a(100, 1.0), b(100, 1.0), c(100, 1.0);
    const bool reads_b = roof.traffic >= Traffic::read_write;
    const bool reads_c = roof.traffic == Traffic::read2_write;
    roof.run(a.data(), reads_b ? b.data() : nullptr, reads_c ? c.data() : nullptr, a.size(), 1);
  });
}

TEST(Roofs, AreSeveralForEachTrafficAndDiffer) {
  on_every_target([] {
    std::set<std::pair<Traffic, std::string_view>> names;
    std::set<decltype(Roof::run)> loops;
    std::vector<int> of_traffic(4);
    for (const Roof& roof : roofs()) {
      EXPECT_TRUE(names.emplace(roof.traffic, roof.name).second) << roof.name;
      EXPECT_TRUE(loops.insert(roof.run).second) << roof.name;
      ++of_traffic[static_cast<std::size_t>(roof.traffic)];
    }
    for (const int count : of_traffic) EXPECT_GE(count, 5);
  });
}

}  // namespace
}  // namespace tabane::simd
