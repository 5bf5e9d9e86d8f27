#include "tabane/lab/record/json.h"

#include <gtest/gtest.h>

#include <limits>

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
    Json::parse(text);
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return {};
}

std::string nested(std::size_t lists) { return repeated("[", lists) + repeated("]", lists); }

TEST(Json, IsAnObjectOfPairsThatBeginWithTextElseAList) {
  EXPECT_EQ((Json{{"b", 1}, {"a", {2, "x"}}}).dump(), R"({"b":1,"a":[2,"x"]})");
  EXPECT_EQ((Json{{"a", 1}}).dump(), R"({"a":1})");
  EXPECT_EQ((Json{{"a", 1}, {2, "x"}}).dump(), R"([["a",1],[2,"x"]])");
  EXPECT_EQ(Json::array({{"a", 1}}).dump(), R"([["a",1]])");
  EXPECT_EQ(Json().dump(), "null");
}

TEST(Json, BecomesAPartOfItself) {
  for (const char* text :
       {R"({"a":{"b":["text",{"c":"longer than what is kept in place"}]},"d":1})",
        R"([["text",{"c":"longer than what is kept in place"}],{"b":[2]}])"}) {
    const Json whole = Json::parse(text), part = *whole.begin();
    Json copied = whole, moved = whole;
    copied = std::as_const(*copied.begin());
    moved = std::move(*moved.begin());
    EXPECT_EQ(copied, part);
    EXPECT_EQ(moved, part);
  }
}

TEST(Json, WritesNumbersAndTextsSoThatTheyAreReadAgain) {
  const Json json = {std::uint64_t{18446744073709551615U},
                     std::int64_t{-9223372036854775807},
                     8.0,
                     0.1,
                     1e-300,
                     std::numeric_limits<double>::infinity(),
                     "\n\"\x01",
                     "é"};
  EXPECT_EQ(json.dump(),
            R"([18446744073709551615,-9223372036854775807,8.0,0.1,1e-300,null,"\n\"\u0001","é"])");
  EXPECT_EQ(Json::parse(json.dump())[0].get<std::uint64_t>(), 18446744073709551615U);
  EXPECT_EQ((Json{{"a", {1}}, {"b", Json::array()}}).dump(1),
            "{\n \"a\": [\n  1\n ],\n \"b\": []\n}");
}

TEST(Json, RefusesOrReplacesWhatIsNotUtf8) {
  EXPECT_THROW(Json("a\xff").dump(), Json::exception);
  EXPECT_EQ(Json("a\xff").dump(-1, Json::Invalid::replaced), "\"a\uFFFD\"");
}

TEST(Json, GivesNumbersThatFitAndNoOthers) {
  EXPECT_EQ(Json(2.9).get<int>(), 2);
  EXPECT_EQ(Json(3), 3.0);
  EXPECT_EQ(Json({1, 2}).get<std::vector<double>>(), (std::vector<double>{1, 2}));
  EXPECT_THROW(Json(300).get<std::uint8_t>(), Json::exception);
  EXPECT_THROW(Json(-1).get<unsigned>(), Json::exception);
  EXPECT_THROW(Json(1e300).get<std::int64_t>(), Json::exception);
  EXPECT_THROW(Json("1").get<double>(), Json::exception);
  EXPECT_THROW(Json(1).get<bool>(), Json::exception);
}

TEST(Json, KeepsTheOrderOfItsKeys) {
  Json json;
  for (const char* key : {"z", "a", "m"}) json[key] = key;
  json["a"] = nullptr;
  json.erase("z");
  json.update({{"b", 1}, {"m", 2}});
  EXPECT_EQ(json.dump(), R"({"a":null,"m":2,"b":1})");
  EXPECT_EQ(json, Json::parse(json.dump()));
  EXPECT_NE(json, Json::parse(R"({"m":2,"a":null,"b":1})"));
  EXPECT_EQ(json.value("b", 0.5), 1);
  EXPECT_EQ(json.value("c", 0.5), 0.5);
  EXPECT_THROW(json.at("c"), Json::exception);
  EXPECT_THROW(json.at(0), Json::exception);
  EXPECT_FALSE(Json(7).contains("a"));
}

TEST(ParseJson, GivesWhatTheTextSays) {
  EXPECT_EQ(Json::parse(R"({"b": [1, -2.5, null], "a": "x"})").dump(),
            R"({"b":[1,-2.5,null],"a":"x"})");
  EXPECT_EQ(Json::parse("1e30"), 1e30);
  EXPECT_EQ(Json::parse(R"({"a": 1, "b": 2, "a": [3]})").dump(), R"({"a":[3],"b":2})");
}

TEST(ParseJson, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "[1,]", "nul", "{} {}", "\xff"}) {
    EXPECT_EQ(refusal(text), "not JSON") << text;
  }
  EXPECT_NE(refusal("1e999"), "");
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_EQ(refusal(nested(64)), "");
  EXPECT_NE(refusal(nested(65)).find("deeper than 64"), std::string::npos);
  EXPECT_NE(refusal(nested(200'000)).find("deeper"), std::string::npos);
  EXPECT_NE(refusal(repeated("[", 200'000)).find("deeper"), std::string::npos);
  EXPECT_NE(refusal(repeated("{\"a\":", 200'000)).find("deeper"), std::string::npos);
  EXPECT_EQ(refusal("[" + repeated("[],{},", 200) + "[]]"), "");
}

TEST(ParseJson, RefusesAbsurdNumbers) {
  for (const char* text : {"1e31", "-1e31", "[1, 1e300]", "{\"a\": {\"b\": -1e300}}"}) {
    EXPECT_NE(refusal(text).find("beyond 1e+30"), std::string::npos) << text;
  }
  EXPECT_NE(refusal("1" + repeated("0", 40)), "");
}

TEST(ParseJson, RefusesObjectsOfVeryManyKeys) {
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
