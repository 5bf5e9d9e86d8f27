#include "tabane/tools/encrypt/root.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::encrypt {
namespace {

TEST(Root, TakesOnlyALegalOne) {
  const std::string good(64, 'a');
  EXPECT_EQ(text_of_root(root_of(good)), good);
  for (const std::string& bad : {good + "a", good.substr(1), std::string(64, 'A'), std::string()}) {
    EXPECT_THROW(root_of(bad), core::UsageError) << bad;
  }
}

}  // namespace
}  // namespace tabane::encrypt
