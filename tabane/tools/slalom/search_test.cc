#include "tabane/tools/slalom/search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace tabane::slalom {
namespace {

// Runs that last a + b n^2 + c n^3.
struct Machine {
  double a, b, c;
  std::vector<int> runs = {};
  double operator()(int n) {
    runs.push_back(n);
    return a + b * n * n + c * n * static_cast<double>(n) * n;
  }
};

int search(Machine& machine, const Limits& limits, double rate) {
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
