#include "tabane/simd/target.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

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
