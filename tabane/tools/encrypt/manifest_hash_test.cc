#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/tools/encrypt/manifest_format.h"

namespace tabane::encrypt {
namespace {

TEST(ManifestHash, TakesOnlyALegalOne) {
  const std::string good(64, 'a');
  EXPECT_EQ(crypto::hexadecimal(parse_manifest_hash(good)), good);
  for (const std::string& bad : {good + "a", good.substr(1), std::string(64, 'A'), std::string()}) {
    EXPECT_THROW(parse_manifest_hash(bad), core::UsageError) << bad;
  }
}

}  // namespace
}  // namespace tabane::encrypt
