#include "tabane/studies/ha8000/ha8000.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tabane/studies/ha8000/chains.h"

namespace tabane::lab::ha8000 {
namespace {

TEST(Ha8000Accumulators, AreLatencyTimesThroughput) {
  EXPECT_EQ(predicted_accumulators(4, 1), 4);
  EXPECT_EQ(predicted_accumulators(4.02, 2.0), 8);  // measured, so a little off
  EXPECT_EQ(predicted_accumulators(4, 1.5), 6);
  EXPECT_EQ(predicted_accumulators(3, 0.75), 3);
  EXPECT_EQ(predicted_accumulators(0.5, 0.1), 1);
}

TEST(Ha8000Accumulators, AreEnoughFromTheFirstThatIsNearlyTheFastest) {
  EXPECT_EQ(sufficient_accumulators(std::vector<double>{1, 2, 3, 3.95, 4, 3.9}), 4);
  EXPECT_EQ(sufficient_accumulators(std::vector<double>{1, 2, 3, 3.8, 4}), 5);
  EXPECT_EQ(sufficient_accumulators(std::vector<double>{4, 2}), 1);
}

TEST(Ha8000Chains, AreThreeProgramsWithOneResult) {
  using Chain = double (*)(std::uint64_t, double);
  const std::vector<Chain> adds = {add_chain<0>, add_chain<1>, add_chain<2>};
  const std::vector<Chain> products = {multiply_chain<0>, multiply_chain<1>, multiply_chain<2>};
  for (const auto& chains : {adds, products}) {
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const Chain one = chains[i], next = chains[(i + 1) % chains.size()];
      EXPECT_NE(
          std::memcmp(reinterpret_cast<const void*>(one), reinterpret_cast<const void*>(next), 48),
          0)
          << i;
      EXPECT_EQ(one(3, 1.0), adds == chains ? 0x1p30 : 1.0);
    }
  }
  EXPECT_EQ(multiply_chain<2>(0, 3.0), 3.0);
}

}  // namespace
}  // namespace tabane::lab::ha8000
