#include "tabane/simd/dispatch.h"

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
  const Habits zen5 = habits_of({"AuthenticAMD", 0x1a});
  EXPECT_FALSE(zen5.half_vectors_near);
  for (const ByteRange& range : {zen5.prefetch, zen5.strings}) {
    EXPECT_TRUE(range.contains(4 << 20));
    EXPECT_FALSE(range.contains(512 << 10));
    EXPECT_FALSE(range.contains(256 << 20));
  }
  EXPECT_TRUE(zen5.prefetch_one.contains(512 << 10));
  EXPECT_FALSE(zen5.prefetch_one.contains(48 << 10));
  EXPECT_FALSE(zen4.prefetch_one.contains(512 << 10));
  EXPECT_FALSE(zen4.prefetch.contains(4 << 20));
  EXPECT_FALSE(zen4.strings.contains(4 << 20));
  EXPECT_FALSE(intel.prefetch.contains(4 << 20));
  EXPECT_FALSE(intel.strings.contains(32 << 10));
  EXPECT_TRUE(intel.strings.contains(1 << 20));
}

TEST(ScopedHabits, GiveOthersAndPutTheOldOnesBack) {
  safe_target();  // learns the habits of this machine
  const Habits before = habits();
  {
    const ScopedHabits other({.several_pages = !before.several_pages});
    EXPECT_NE(habits().several_pages, before.several_pages);
  }
  EXPECT_EQ(habits().several_pages, before.several_pages);
}

}  // namespace

}  // namespace tabane::simd
