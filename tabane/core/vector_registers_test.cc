#include "tabane/core/vector_registers.h"

#include <gtest/gtest.h>

namespace tabane::core {
namespace {

constexpr std::uint32_t kOsXsave = 1u << 27, kAvx = 1u << 28, kAvx2 = 1u << 5, kAvx512 = 1u << 16;

TEST(VectorRegisters, AreEnabledWhereTheSystemSavesThem) {
  const auto server = vector_registers({kOsXsave | kAvx, kAvx2 | kAvx512, 0xe7});
  EXPECT_TRUE(server.avx_enabled);
  EXPECT_TRUE(server.avx512_enabled);
  EXPECT_FALSE(server.some_disabled());
  EXPECT_EQ(server.disabled(), "");
}

TEST(VectorRegisters, AreDisabledWithoutXsaveWhateverTheProcessorAnnounces) {
  // A kernel with "noxsave": CPUID still shows AVX2, but OSXSAVE is clear.
  const auto desktop = vector_registers({kAvx, kAvx2, 0});
  EXPECT_TRUE(desktop.has_avx);
  EXPECT_FALSE(desktop.avx_enabled);
  EXPECT_EQ(desktop.disabled(), "AVX");
  EXPECT_EQ(vector_registers({kAvx, kAvx2 | kAvx512, 0}).disabled(), "AVX, AVX-512");
}

TEST(VectorRegisters, NeedEveryStateThatTheyConsistOf) {
  for (const std::uint64_t xcr0 : {0x0, 0x1, 0x3, 0x5}) {
    EXPECT_FALSE(vector_registers({kOsXsave | kAvx, kAvx2, xcr0}).avx_enabled) << xcr0;
  }
  EXPECT_TRUE(vector_registers({kOsXsave | kAvx, kAvx2, 0x7}).avx_enabled);
  for (const std::uint64_t xcr0 : {0x7, 0x27, 0x67, 0xc7, 0xa7}) {
    const auto found = vector_registers({kOsXsave | kAvx, kAvx2 | kAvx512, xcr0});
    EXPECT_TRUE(found.avx_enabled) << xcr0;
    EXPECT_FALSE(found.avx512_enabled) << xcr0;
    EXPECT_EQ(found.disabled(), "AVX-512") << xcr0;
  }
}

TEST(VectorRegisters, ThatTheProcessorLacksAreNotCalledDisabled) {
  EXPECT_FALSE(vector_registers({0, 0, 0}).some_disabled());
  EXPECT_FALSE(vector_registers({kOsXsave, 0, 0xe7}).some_disabled());
  EXPECT_FALSE(vector_registers({kOsXsave, 0, 0xe7}).avx_enabled);
}

#if defined(__x86_64__)
TEST(VectorRegisters, OfThisMachineAgreeWithTheCompilersRuntime) {
  EXPECT_EQ(vector_registers().avx_enabled, __builtin_cpu_supports("avx") != 0);
  EXPECT_EQ(vector_registers().avx512_enabled, __builtin_cpu_supports("avx512f") != 0);
}
#endif

}  // namespace
}  // namespace tabane::core
