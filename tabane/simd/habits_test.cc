#include "tabane/simd/habits.h"

#include <gtest/gtest.h>

namespace tabane::simd {
namespace {

TEST(Habits, AreThoseOfAKindOfProcessor) {
  const Habits intel = habits_of({"GenuineIntel", 6});
  EXPECT_TRUE(intel.several_pages);
  EXPECT_TRUE(intel.half_vectors_far);
  EXPECT_FALSE(intel.half_vectors_near);
  const Habits zen4 = habits_of({"AuthenticAMD", 0x19});
  EXPECT_TRUE(zen4.half_vectors_near);
  for (const Processor& other : {Processor{"AuthenticAMD", 0x19}, Processor{"AuthenticAMD", 0x1a},
                                 Processor{"HygonGenuine", 0x18}, Processor{}}) {
    EXPECT_FALSE(habits_of(other).several_pages) << other.vendor;
    EXPECT_FALSE(habits_of(other).half_vectors_far) << other.vendor;
  }
  EXPECT_FALSE(habits_of({"AuthenticAMD", 0x1a}).half_vectors_near);
}

TEST(ScopedHabits, GiveOthersAndPutTheOldOnesBack) {
  const Habits before = habits();
  {
    const ScopedHabits other({.several_pages = !before.several_pages});
    EXPECT_NE(habits().several_pages, before.several_pages);
  }
  EXPECT_EQ(habits().several_pages, before.several_pages);
}

}  // namespace
}  // namespace tabane::simd
