#include "tabane/lab/probes/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tabane::lab {
namespace {

TEST(VectorKernels, CountTheOperandsThatTheyTouch) {
  for (const Kernel& kernel : vector_kernels()) {
    EXPECT_GE(kernel.loads + kernel.stores, kernel.arrays) << kernel.name;
    EXPECT_GT(kernel.bytes(), 0) << kernel.name;
  }
}

TEST(WorkingSet, IsCutIntoArraysThatFillItAndStayNormalUnderAllKernelsInTurn) {
  const WorkingSet set(48 * 1024);
  for (int round = 0; round < 20; ++round) {
    for (const Kernel& kernel : vector_kernels()) {
      const Arrays arrays = set.arrays_for(kernel);
      const std::size_t bytes = arrays.a.size() * 8 * static_cast<std::size_t>(kernel.arrays);
      EXPECT_LE(bytes, 48u * 1024);
      EXPECT_GE(bytes, 47u * 1024);
      for (int pass = 0; pass < 50; ++pass) kernel.run(arrays);
      for (const auto& array : {arrays.a, arrays.b, arrays.c}) {
        EXPECT_TRUE(std::ranges::all_of(array, [](double v) { return std::isnormal(v); }))
            << kernel.name;
      }
    }
  }
}

TEST(WorkingSet, HasAtLeastOneLineForEachArray) {
  const WorkingSet set(0);
  for (const Kernel& kernel : vector_kernels()) {
    EXPECT_EQ(set.arrays_for(kernel).a.size(), 8u);
    kernel.run(set.arrays_for(kernel));
  }
}

TEST(Rates, AreAmountsOverSeconds) {
  core::Series series;
  series.samples = {0.5, 2};
  EXPECT_EQ(rates(series, 10), (std::vector<double>{20, 5}));
}

}  // namespace
}  // namespace tabane::lab
