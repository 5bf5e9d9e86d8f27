#include "tabane/team/serialiser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace tabane::team {
namespace {

template <class T>
T there_and_back(const T& value) {
  Bytes bytes;
  put_value(bytes, value);
  Reader in(bytes);
  T back = get_value<T>(in);
  EXPECT_TRUE(in.empty());
  return back;
}

struct Point {
  int x, y;
  bool operator==(const Point&) const = default;
};

class NoDefault {
 public:
  explicit NoDefault(int value) : value_(value) {}
  bool operator==(const NoDefault&) const = default;

 private:
  int value_;
};

struct Named {
  std::string name;
  std::vector<int> values;
  bool operator==(const Named&) const = default;
};

}  // namespace

template <>
struct Serialiser<Named> {
  static void put(Bytes& out, const Named& value) {
    put_value(out, value.name);
    put_value(out, value.values);
  }
  static Named get(Reader& in) {
    auto name = get_value<std::string>(in);
    return {std::move(name), get_value<std::vector<int>>(in)};
  }
};

namespace {

TEST(Serialiser, CopiesTriviallyCopyableTypesAsTheyAre) {
  Bytes bytes;
  put_value(bytes, std::uint32_t{0x01020304});
  EXPECT_EQ(bytes.size(), 4u);
  EXPECT_EQ(there_and_back(-1.5), -1.5);
  EXPECT_EQ(there_and_back(Point{3, -4}), (Point{3, -4}));
  EXPECT_EQ(there_and_back(NoDefault(7)), NoDefault(7));
  EXPECT_EQ(there_and_back(std::optional<int>(5)), 5);
}

struct Padded {
  char first;
  double second;
  char third;
};

TEST(Serialiser, WritesNothingOfWhatLiesBetweenMembers) {
#if defined(__clang__)
  GTEST_SKIP() << "this compiler cannot clear it";
#endif
  std::vector<Padded> values(3);
  std::memset(static_cast<void*>(values.data()), 0xaa, values.size() * sizeof(Padded));
  for (Padded& value : values) value.first = 1, value.second = 2.5, value.third = 3;
  const auto bytes_that_leak = [](const Bytes& bytes) {
    return std::ranges::count(bytes, std::byte{0xaa});
  };
  Bytes one, all;
  put_value(one, values[0]);
  put_value(all, values);
  EXPECT_EQ(bytes_that_leak(one), 0);
  EXPECT_EQ(bytes_that_leak(all), 0);
  const auto back = there_and_back(values);
  EXPECT_TRUE(back[2].first == 1 && back[2].second == 2.5 && back[2].third == 3);
}

TEST(Serialiser, ReturnsStringsWithAnyContent) {
  for (const std::string& text :
       {std::string(), std::string("abc"), std::string("a\0b", 3), std::string(100'000, 'x')}) {
    EXPECT_EQ(there_and_back(text), text);
  }
  EXPECT_EQ(there_and_back(std::u32string(U"束ね")), U"束ね");
}

TEST(Serialiser, ReturnsVectors) {
  EXPECT_EQ(there_and_back(std::vector<int>{}), std::vector<int>{});
  EXPECT_EQ(there_and_back(std::vector<int>{1, 2, 3}), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(there_and_back(std::vector<bool>{true, false, true}),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(there_and_back(std::vector<NoDefault>(2, NoDefault(9))),
            std::vector<NoDefault>(2, NoDefault(9)));
  const std::vector<std::string> words{"", "one", "two"};
  EXPECT_EQ(there_and_back(words), words);
}

TEST(Serialiser, ReturnsPairsOptionalsAndMaps) {
  const std::pair<std::string, int> pair{"seven", 7};
  EXPECT_EQ(there_and_back(pair), pair);
  EXPECT_EQ(there_and_back(std::optional<std::string>()), std::nullopt);
  EXPECT_EQ(there_and_back(std::optional<std::string>("x")), "x");
  const std::map<std::string, int> counts{{"a", 1}, {"b", 2}};
  EXPECT_EQ(there_and_back(counts), counts);
  const std::unordered_map<int, std::string> names{{1, "one"}, {2, "two"}};
  EXPECT_EQ(there_and_back(names), names);
}

TEST(Serialiser, ReturnsNestedTypesAndOwnOnes) {
  const std::map<std::string, std::vector<std::pair<int, std::optional<std::string>>>> nested{
      {"", {}}, {"k", {{1, "x"}, {2, std::nullopt}}}};
  EXPECT_EQ(there_and_back(nested), nested);
  const std::vector<Named> own{{"a", {1, 2}}, {"", {}}};
  EXPECT_EQ(there_and_back(own), own);
}

TEST(Serialiser, ReadsWhatStandsInARowInTheSameOrder) {
  Bytes bytes;
  put_value(bytes, 1);
  put_value(bytes, std::string("two"));
  put_value(bytes, 3.0);
  Reader in(bytes);
  EXPECT_EQ(get_value<int>(in), 1);
  EXPECT_EQ(get_value<std::string>(in), "two");
  EXPECT_EQ(get_value<double>(in), 3.0);
}

TEST(Serialiser, ThrowsAtEveryEarlyEndAndNeverReadsBeyond) {
  Bytes bytes;
  put_value(bytes, std::map<std::string, std::vector<int>>{{"key", {1, 2, 3}}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Reader in(std::span<const std::byte>(bytes.data(), size));
    EXPECT_THROW((get_value<std::map<std::string, std::vector<int>>>(in)), std::out_of_range);
  }
}

TEST(Serialiser, RefusesLengthsThatCannotBe) {
  Bytes bytes;
  put_value(bytes, std::uint64_t{UINT64_MAX / 2});
  Reader numbers(bytes);
  EXPECT_THROW(get_value<std::vector<double>>(numbers), std::out_of_range);
  Reader text(bytes);
  EXPECT_THROW(get_value<std::string>(text), std::out_of_range);
}

TEST(Serialisable, TellsWhatCanBeReturned) {
  static_assert(Serialisable<int> && Serialisable<std::vector<std::string>> && Serialisable<Named>);
  static_assert(!Serialisable<std::unique_ptr<int>>);
  static_assert(!Serialisable<std::vector<std::unique_ptr<int>>>);
  static_assert(!Serialisable<std::map<int, std::unique_ptr<int>>>);
  static_assert(points_elsewhere<const char*> && points_elsewhere<std::string_view> &&
                points_elsewhere<std::span<int>> && !points_elsewhere<Point>);
}

}  // namespace
}  // namespace tabane::team
