#include "tabane/tools/simulate/rates.h"

#include <gtest/gtest.h>

#include "tabane/comm/machine.h"

namespace tabane::simulate {
namespace {

TEST(Rates, AreLawsOfMachines) {
  const Rates rates = measure_rates(1);  // more would wait for each other where others work
  for (const char* kind : {"memory", "product", "product.ldlt", "product.ldlt.triangle", "text"}) {
    const auto found = rates.find(kind);
    ASSERT_NE(found, rates.end()) << kind;
    const auto law = comm::sim::Law::parse(found->second);
    EXPECT_GT(law.at({1e6, 2, 0, 1e6}), 0) << kind;
    EXPECT_LT(law.at({1e6, 2, 0, 1e6}), 1e9) << kind;
  }
  EXPECT_EQ(rates.size(), 5U);
}

}  // namespace
}  // namespace tabane::simulate
