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

TEST(KernelData, FitsTheWorkingSetAndStaysFiniteUnderEveryKernel) {
  for (const Kernel& kernel : vector_kernels()) {
    const KernelData data(kernel, 48 * 1024);
    EXPECT_LE(data.elements() * 8 * static_cast<std::size_t>(kernel.arrays), 48u * 1024);
    EXPECT_GE(data.elements() * 8 * static_cast<std::size_t>(kernel.arrays), 47u * 1024);
    for (int pass = 0; pass < 100; ++pass) kernel.run(data.arrays());
    for (const auto& array : {data.arrays().a, data.arrays().b, data.arrays().c}) {
      EXPECT_TRUE(std::all_of(array.begin(), array.end(), [](double v) {
        return std::isnormal(v) || v == 0;
      })) << kernel.name;
    }
  }
}

TEST(KernelData, HasAtLeastOneLine) {
  EXPECT_EQ(KernelData(vector_kernels().front(), 0).elements(), 8u);
}

TEST(Rates, AreAmountsOverSeconds) {
  core::Series series;
  series.samples = {0.5, 2};
  EXPECT_EQ(rates(series, 10), (std::vector<double>{20, 5}));
}

}  // namespace
}  // namespace tabane::lab
