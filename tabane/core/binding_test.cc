#include "tabane/core/binding.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

using List = std::vector<unsigned>;

TEST(ScopedBinding, BindsAndPutsTheOldBindingBack) {
  const List before = thread_binding();
  ASSERT_FALSE(before.empty());
  {
    const ScopedBinding binding(before.back());
    EXPECT_EQ(thread_binding(), List{before.back()});
  }
  EXPECT_EQ(thread_binding(), before);
}

TEST(BindThisThread, ToNoPusChangesNothing) {
  const List before = thread_binding();
  bind_this_thread({});
  EXPECT_EQ(thread_binding(), before);
}

TEST(BindThisThread, NamesThePusThatTheSystemRefuses) {
  try {
    bind_this_thread(List{60'000});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("60000"), std::string::npos);
  }
}

}  // namespace
}  // namespace tabane::core
