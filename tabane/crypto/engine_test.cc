#include "tabane/crypto/engine.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/core/vector_registers.h"

namespace tabane::crypto {
namespace {

TEST(Engine, IsNotIpsecMbWhereTheSystemHasNotEnabledWhatCpuidAnnounces) {
  EXPECT_TRUE(may_use_ipsec_mb({}));  // SSE alone
  EXPECT_TRUE(may_use_ipsec_mb({true, false, true, false}));
  EXPECT_TRUE(may_use_ipsec_mb({true, true, true, true}));
  EXPECT_FALSE(may_use_ipsec_mb({true, false, false, false}));
  EXPECT_FALSE(may_use_ipsec_mb({true, true, true, false}));
}

TEST(Engine, IsAlwaysOneThatRunsHere) {
  EXPECT_EQ(resolve(Engine::openssl), Engine::openssl);
  EXPECT_EQ(resolve(Engine::automatic), ipsec_mb_available() ? Engine::ipsec_mb : Engine::openssl);
  EXPECT_EQ(cpu_engine(Engine::opencl), resolve(Engine::automatic));
  EXPECT_EQ(cpu_engine(Engine::openssl), Engine::openssl);
  if (!ipsec_mb_available()) {
    EXPECT_THROW(resolve(Engine::ipsec_mb), core::UsageError);
  }
}

}  // namespace
}  // namespace tabane::crypto
