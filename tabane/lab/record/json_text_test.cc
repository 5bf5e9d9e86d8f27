#include "tabane/lab/record/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string refusal(const std::string& text) {
  try {
    json_from_text(text);
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return {};
}

std::string nested(std::size_t lists) { return repeated("[", lists) + repeated("]", lists); }

TEST(JsonFromText, GivesWhatTheTextSays) {
  EXPECT_EQ(json_from_text(R"({"b": [1, -2.5, null], "a": "x"})").dump(),
            R"({"b":[1,-2.5,null],"a":"x"})");
  EXPECT_EQ(json_from_text("1e30"), 1e30);
}

TEST(JsonFromText, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "[1,]", "nul", "{} {}", "\xff"}) {
    EXPECT_EQ(refusal(text), "not JSON") << text;
  }
  EXPECT_NE(refusal("1e999"), "");
}

TEST(JsonFromText, RefusesDeepNesting) {
  EXPECT_EQ(refusal(nested(64)), "");
  EXPECT_NE(refusal(nested(65)).find("deeper than 64"), std::string::npos);
  EXPECT_NE(refusal(nested(200'000)).find("deeper"), std::string::npos);
  EXPECT_NE(refusal(repeated("[", 200'000)).find("deeper"), std::string::npos);
  EXPECT_NE(refusal(repeated("{\"a\":", 200'000)).find("deeper"), std::string::npos);
  EXPECT_EQ(refusal("[" + repeated("[],{},", 200) + "[]]"), "");
}

TEST(JsonFromText, RefusesAbsurdNumbers) {
  for (const char* text : {"1e31", "-1e31", "[1, 1e300]", "{\"a\": {\"b\": -1e300}}"}) {
    EXPECT_NE(refusal(text).find("beyond 1e+30"), std::string::npos) << text;
  }
  EXPECT_NE(refusal("1" + repeated("0", 40)), "");
}

TEST(JsonFromText, RefusesObjectsOfVeryManyKeys) {
  const auto object = [](std::size_t keys) {
    std::string text = "{\"0\":{}";
    for (std::size_t i = 1; i < keys; ++i) text += ",\"" + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_EQ(refusal(object(10'000)), "");
  EXPECT_NE(refusal(object(10'001)).find("keys"), std::string::npos);
}

}  // namespace
}  // namespace tabane::lab
