#include "tabane/comm/message.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

struct Place {
  double x, y;
};
struct Pair {
  int a, b;
};

TEST(TypeCode, NamesArithmeticTypesBySizeAndKind) {
  EXPECT_EQ(name_of(type_code<double>()), "float64");
  EXPECT_EQ(name_of(type_code<float>()), "float32");
  EXPECT_EQ(name_of(type_code<int>()), "int32");
  EXPECT_EQ(name_of(type_code<unsigned char>()), "uint8");
  EXPECT_EQ(name_of(type_code<std::uint64_t>()), "uint64");
  EXPECT_EQ(name_of(type_code<std::byte>()), "bytes");
  EXPECT_EQ(name_of(type_code<Place>()), "another type");
}

TEST(TypeCode, IsTheSameForTypesOfTheSameKindAndSize) {
  EXPECT_EQ(type_code<long>(), type_code<long long>());
  EXPECT_NE(type_code<int>(), type_code<unsigned>());
  EXPECT_NE(type_code<int>(), type_code<float>());
  EXPECT_NE(type_code<Place>(), type_code<Pair>());
}

TEST(TypesFit, WhenEqualOrOneIsBytes) {
  EXPECT_TRUE(types_fit(type_code<int>(), type_code<int>()));
  EXPECT_TRUE(types_fit(type_code<std::byte>(), type_code<Place>()));
  EXPECT_TRUE(types_fit(type_code<Place>(), type_code<std::byte>()));
  EXPECT_FALSE(types_fit(type_code<Pair>(), type_code<Place>()));
  EXPECT_FALSE(types_fit(type_code<double>(), type_code<std::int64_t>()));
}

std::string misfit(const MessageEnd& sender, const MessageEnd& receiver) {
  return core::text_of_error<MessageError>([&] { check_fits(sender, receiver, 7); });
}

TEST(CheckFits, NamesBothSides) {
  const MessageEnd sender{2, type_code<double>(), 24};
  EXPECT_EQ(misfit(sender, {5, type_code<double>(), 24}), "");
  EXPECT_EQ(misfit(sender, {5, type_code<double>(), 100}), "");
  EXPECT_EQ(misfit(sender, {5, type_code<int>(), 100}),
            "message from rank 2 to rank 5, tag 7: the sender sent float64, the receiver wants "
            "int32");
  EXPECT_EQ(misfit(sender, {5, type_code<std::byte>(), 23}),
            "message from rank 2 to rank 5, tag 7: the sender sent 24 bytes of float64, the "
            "receiver has room for 23 bytes");
  EXPECT_EQ(misfit({2, type_code<Place>(), 16}, {5, type_code<Pair>(), 16}),
            "message from rank 2 to rank 5, tag 7: the sender sent elements of one struct type, "
            "the receiver wants another");
}

static_assert(SendableRange<std::vector<int>> && SendableRange<std::string> &&
              SendableRange<std::array<Place, 3>>);
static_assert(!Sendable<int*> && !Sendable<std::string> && !SendableRange<std::vector<char*>>);
static_assert(!SendableRange<std::vector<bool>>, "its elements do not lie in memory");

}  // namespace
}  // namespace tabane::comm
