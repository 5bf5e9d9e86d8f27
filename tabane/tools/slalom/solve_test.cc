#include "tabane/tools/slalom/solve.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tabane/comm/launch.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/slalom/box_test.h"
#include "tabane/tools/slalom/setup.h"

namespace tabane::slalom {
namespace {

// In published lists of results, to 0.1 million.
TEST(CountedOperations, AreThoseOfPublishedResults) {
  for (const auto& [patches, millions] :
       {std::pair{2390, 13477.0}, {2303, 12103.3}, {4452, 83332.9}}) {
    EXPECT_NEAR(counted_operations(kBox, patches, Revision::r152) / 1e6, millions, 0.05);
  }
}

// One rank only computes: products take 0.8 us an operation, couplings 400 times 0.18 us, the text
// 48 times 36 us a patch.
TEST(SimulatedTime, CountsEachOperationOnce) {
  constexpr int kPatches = 200;
  comm::launch({.machine = "ap1000:1x1"}, [&](comm::Comm& comm) {
    const core::ScratchFolder folder("slalom");
    core::write_file(folder / "geom", default_geometry_text());
    const SolvedBox answer =
        solve(comm, {.geometry = folder / "geom", .patches = kPatches, .block = 4});
    EXPECT_TRUE(answer.solution.check.passed());
    const double couplings = kPatches * kPatches / 2.0 * 400 * 0.18e-6;
    const double text = kPatches * 48 * 36e-6;
    EXPECT_NEAR((answer.solution.seconds - couplings - text) / (0.8e-6 * answer.performed), 1,
                0.05);
  });
}

// The revisions differ in the set-up alone: 3 of its start, 308 per pair of opposite patches, 60
// per other pair, 8 per patch.
TEST(CountedOperations, OfTheRevisionsDifferInTheSetUp) {
  const double pairs_opposite = 12 * 12 + 7 * 7 + 11 * 11;
  const double squares = 2 * pairs_opposite;
  const double others = (60 * 60 - squares - 2 * pairs_opposite) / 2;
  EXPECT_EQ(
      counted_operations(kBox, 60, Revision::r152) - counted_operations(kBox, 60, Revision::r126),
      308 * pairs_opposite + 60 * others - 3 - 8 * 60);
}

// For one patch a face, all of it by hand: K = 1 + 1 + 1 + 1 + 1 + 1, T = 3, Q = 6, f = 2.
TEST(CountedOperations, OfSixPatches) {
  const double set_up = 6 + 532 * 3 + 8 * 6 + 370 * 12.0 + 72 + 54 + 30;
  const double solver = 216 + 270 - 15 - 21 + 2 * (8 - 33 + 35.5) + 12 * 3;
  EXPECT_EQ(counted_operations(kBox, 6, Revision::r126),
            258 + (154 + 48 + 6) + set_up + solver + 48 * 6);
}

TEST(Memory, IsAboutThreeTimesTheLowerPart) {
  const double rest = 0.8 * 20000;
  const double least = 8 * (3 * rest * rest / 2 + rest * 4000);
  for (const comm::GridShape grid : {comm::GridShape{1, 1}, {2, 1}, {1, 2}, {3, 3}}) {
    const auto bytes = static_cast<double>(bytes_of_ranks(kBox, 20000, grid));
    EXPECT_GT(bytes, least);
    EXPECT_LT(bytes, 1.35 * least);
  }
}

TEST(MostPatches, AreTheMostThatFit) {
  const comm::GridShape grid{2, 1};
  for (double bytes : {1e6, 1e8, 4e9}) {
    const int most = most_patches(kBox, bytes, grid);
    EXPECT_LE(static_cast<double>(bytes_of_ranks(kBox, most, grid)), bytes);
    EXPECT_GT(static_cast<double>(bytes_of_ranks(kBox, most + 40, grid)), bytes);
  }
}

TEST(RowSums, ShowASumThatIsNoNumber) {
  const Region region = cut_into_patches(kBox, 6);
  std::vector<double> sums;
  for (const Patch& patch : region.patches)
    sums.push_back(8 * 3.14159265358979323846 * patch.area());
  EXPECT_LT(worst_row_sum(region, sums), 1e-15);
  sums[2] *= 1 + 1e-9;
  EXPECT_NEAR(worst_row_sum(region, sums), 1e-9, 1e-15);
  sums[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(worst_row_sum(region, sums) <= kRowSumTolerance);
}

// Runs that last a + b n^2 + c n^3.
struct Machine {
  double a, b, c;
  std::vector<int> runs = {};
  double operator()(int n) {
    runs.push_back(n);
    return a + b * n * n + c * n * static_cast<double>(n) * n;
  }
};

int search(Machine& machine, const SearchLimits& limits, double rate) {
  return largest_in(limits, rate, [&](int n) { return machine(n); });
}

TEST(Search, FindsTheLargestInFewRuns) {
  for (double b : {0.0, 1e-8, 1e-7}) {
    for (double rate : {1e9, 1e11, 1e12}) {
      Machine machine{0.01, b, 4e-12};
      const int found = search(machine, {.seconds = 60}, rate);
      EXPECT_LT(Machine(machine)(found), 60);
      EXPECT_GE(Machine(machine)(static_cast<int>(found * 1.011)), 60) << b << " " << rate;
      EXPECT_LE(machine.runs.size(), 6U) << b << " " << rate;
    }
  }
}

// One run in between was lucky, another was not.
TEST(Search, IsNotHeldUpByRunsThatDiffer) {
  std::vector<int> runs;
  const int found = largest_in({.seconds = 60}, 1e11, [&](int n) {
    runs.push_back(n);
    const double noise = runs.size() == 4 ? 0.7 : runs.size() == 3 ? 1.3 : 1;
    return noise * 1e-11 * n * static_cast<double>(n) * n;
  });
  EXPECT_GE(found, 17500);  // 18171 without noise
  for (std::size_t i = 1; i < runs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_GT(std::abs(runs[i] - runs[j]), 40);
  }
}

TEST(Search, StopsWhereMemoryEnds) {
  Machine machine{0, 0, 1e-12};
  EXPECT_EQ(search(machine, {.seconds = 60, .most = 5000}, 1e11), 5000);
}

TEST(Search, FindsNothingWhereEvenTheFewestTakeTooLong) {
  Machine machine{100, 0, 0};
  EXPECT_EQ(search(machine, {.seconds = 60}, 1e10), 0);
}

TEST(Search, StopsWhenARunSaysSo) {
  int runs = 0;
  EXPECT_EQ(largest_in({.seconds = 60}, 1e10, [&](int) { return ++runs, -1.0; }), 0);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace tabane::slalom
