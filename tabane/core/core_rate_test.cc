#include "tabane/core/core_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"

namespace tabane::core {
namespace {

std::uint64_t fastest_chain(std::uint64_t adds) {
  std::uint64_t best = ~std::uint64_t{0};
  for (int i = 0; i < 200; ++i) best = std::min(best, run_add_chain(adds));
  return best;
}

TEST(RunAddChain, TakesTimeInProportionToTheAdds) {
  const auto once = static_cast<double>(fastest_chain(64 * 1000));
  const auto fourfold = static_cast<double>(fastest_chain(64 * 4000));
  EXPECT_GT(fourfold / once, 2.5);
  EXPECT_LT(fourfold / once, 6.5);
}

TEST(RunAddChain, RunsAWholeBlockForOneAdd) {
  // 64 dependent additions cannot finish in no time at all, even at the counter's coarsest.
  std::uint64_t total = 0;
  for (int i = 0; i < 10000; ++i) total += run_add_chain(1);
  EXPECT_GT(total, 0u);
}

TEST(MeasureCoreRate, IsARateOfARealCore) {
  const double rate = measure_core_rate(0.005);
  EXPECT_GT(rate, 1e7);
  EXPECT_LT(rate, 2e10);
}

TEST(MeasureCoreRate, MeasuresAtLeastOneSliceWithoutABudget) { EXPECT_GT(measure_core_rate(0), 0); }

TEST(SkewOf, IsTheMiddleOfARoundTripAndHalfOfItAndAStep) {
  // Between 107 - 120 - 1 and 107 - 100 + 1.
  const TickSkew skew = skew_of(100, 107, 120, 1);
  EXPECT_EQ(skew.offset_ticks, -3);
  EXPECT_EQ(skew.bound_ticks, 11);
}

TEST(SkewOf, IsNoBetterKnownThanAStepOfTheCounters) {
  // They moved by 40 at once, after the answer: it may have come that much before.
  const TickSkew skew = skew_of(1000, 960, 1000, 40);
  EXPECT_EQ(skew.offset_ticks, -40);
  EXPECT_EQ(skew.bound_ticks, 40);
}

TEST(MeasureTickSkew, RefusesOnePuWithItself) {
  const unsigned pu = thread_binding().front();
  EXPECT_THROW(measure_tick_skew(pu, pu), SystemError);
}

TEST(MeasureTickSkew, RefusesPusThatDoNotExist) {
  const unsigned pu = thread_binding().front();
  EXPECT_THROW(measure_tick_skew(pu, 4095, 10), SystemError);
  EXPECT_THROW(measure_tick_skew(4095, pu, 10), SystemError);
}

TEST(MeasureTickSkew, PutsTheBindingOfTheCallerBack) {
  const std::vector<unsigned> before = thread_binding();
  EXPECT_THROW(measure_tick_skew(before.front(), 4095, 10), SystemError);
  EXPECT_EQ(thread_binding(), before);
}

TEST(MeasureTickSkew, IsAntisymmetricWithinItsBounds) {
  const std::vector<unsigned> pus = thread_binding();
  if (pus.size() < 2) GTEST_SKIP() << "one usable PU";
  const TickSkew forth = measure_tick_skew(pus[0], pus[1], 500);
  const TickSkew back = measure_tick_skew(pus[1], pus[0], 500);
  EXPECT_GT(forth.bound_ticks, 0);
  // True offsets are opposite, and each lies within its bound.
  EXPECT_LE(std::abs(forth.offset_ticks + back.offset_ticks), forth.bound_ticks + back.bound_ticks);
  EXPECT_EQ(thread_binding(), pus);
}

}  // namespace
}  // namespace tabane::core
