#include "tabane/lab/record/base64.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

// The vectors of RFC 4648, section 10.
TEST(Base64, WritesBytes) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_TRUE(is_base64(text));
  }
  EXPECT_EQ(to_base64("\xff\xfe\xfd"), "//79");
}

TEST(Base64, KnowsWhatIsNone) {
  for (const char* text : {"Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Zm9v\"", "Zm 9", "<img"}) {
    EXPECT_FALSE(is_base64(text)) << text;
  }
}

}  // namespace
}  // namespace tabane::lab
