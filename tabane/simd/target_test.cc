#include "tabane/simd/target.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/simd/dispatch.h"

namespace tabane::simd {
namespace {

TEST(Target, InUseIsTheFirstOfTheList) {
  ASSERT_FALSE(target_names().empty());
  EXPECT_EQ(target_name(), target_names().front());
}

TEST(Target, VectorsHoldADoubleAndAreAPowerOfTwo) {
  const unsigned bytes = vector_bytes();
  EXPECT_GE(bytes, sizeof(double));
  EXPECT_EQ(bytes & (bytes - 1), 0u);
}

#if defined(__x86_64__)
TEST(Target, NeedsNoRegistersThatTheSystemHasNotEnabled) {
  const auto disabled = [](bool avx_enabled, bool avx512_enabled) {
    return disabled_targets({true, true, avx_enabled, avx512_enabled});
  };
  EXPECT_EQ(disabled(true, true), 0);
  EXPECT_EQ(disabled(false, false) & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL),
            HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL);
  EXPECT_EQ(disabled(false, false) & (HWY_SSE4 | HWY_SSSE3 | HWY_SCALAR | HWY_EMU128), 0);
  EXPECT_EQ(disabled(true, false) & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL), HWY_AVX3 | HWY_AVX3_DL);
  EXPECT_EQ(disabled_targets({}), 0);
}
#endif

TEST(Target, IsNoneThatIsDisabledEvenAfterTheListWasAskedFor) {
  const std::vector<std::string> all = target_names();
  if (all.size() < 2) GTEST_SKIP() << "one target only";
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  hwy::DisableTargets(disabled_targets(core::vector_registers()) | (targets & -targets));
  const std::vector<std::string> left = target_names();
  const std::string used = target_name();
  hwy::DisableTargets(disabled_targets(core::vector_registers()));
  EXPECT_EQ(used, all[1]);
  EXPECT_EQ(left, std::vector<std::string>(all.begin() + 1, all.end()));
  EXPECT_EQ(target_names(), all);
  EXPECT_EQ(target_name(), all[0]);
}

TEST(ScopedTarget, ForcesATargetAndPutsTheBestBack) {
  const std::string best = target_name();
  {
    const ScopedTarget last(target_names().back());
    EXPECT_EQ(target_name(), target_names().back());
  }
  EXPECT_EQ(target_name(), best);
}

TEST(ScopedTarget, NamesTheLegalTargets) {
  try {
    const ScopedTarget wrong("MMX");
    FAIL() << "MMX was accepted";
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(target_names().front()), std::string::npos);
  }
  EXPECT_EQ(target_name(), target_names().front());
}

}  // namespace
}  // namespace tabane::simd
