#include "tabane/simd/ladder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Ladder, HasTheSameFourVariantsOfFourKernels) {
  std::map<std::string_view, std::vector<std::string_view>> variants;
  for (const Rung& rung : ladder()) variants[rung.kernel].push_back(rung.variant);
  ASSERT_EQ(variants.size(), 4u);
  for (const auto& [kernel, names] : variants) {
    EXPECT_EQ(names, (std::vector<std::string_view>{"plain loop", "one accumulator", "unrolled",
                                                    "shipped"}))
        << kernel;
  }
}

TEST(Ladder, AllVariantsOfAKernelComputeTheSame) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      const auto x = some_values<double>(n, 1), y = some_values<double>(n, 2);
      double expected = 0;
      std::vector<double> expected_y;
      for (const Rung& rung : ladder()) {
        SCOPED_TRACE(std::string(rung.kernel) + ", " + std::string(rung.variant) + ", " +
                     std::to_string(n));
        std::vector<double> out = y;
        const double result = rung.run(x.data(), out.data(), n);
        if (rung.variant == "plain loop") {
          expected = result;
          expected_y = out;
        }
        EXPECT_NEAR(result, expected, static_cast<double>(n + 1) * 0x1p-51);
        ASSERT_EQ(out.size(), expected_y.size());
        for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(out[i], expected_y[i], 0x1p-52);
        if (rung.kernel != "axpy") {
          EXPECT_EQ(out, y);
        }
      }
    }
  });
}

TEST(Ladder, AnyNumberOfAccumulatorsAddsUpWhatFillsThem) {
  on_every_target([] {
    std::vector<double> x(1000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
    for (int k = 1; k <= kMostAccumulators; ++k) {
      const std::size_t step = static_cast<std::size_t>(k) * vector_bytes() / sizeof(double);
      const std::size_t n = x.size() / step * step;
      const AccumulatedSum found = sum_with(k, x, 3);
      EXPECT_EQ(found.additions, 3 * n) << k;
      EXPECT_EQ(found.sum, 3 * static_cast<double>(n * (n - 1) / 2)) << k;
    }
  });
}

TEST(Ladder, AxpyAddsTheDocumentedMultiple) {
  for (const Rung& rung : ladder()) {
    if (rung.kernel != "axpy") continue;
    const std::vector<double> x(37, 0x1p60);
    std::vector<double> y(37, 2.0);
    rung.run(x.data(), y.data(), y.size());
    EXPECT_EQ(y, std::vector<double>(37, 3.0)) << rung.variant;
  }
}

}  // namespace
}  // namespace tabane::simd
