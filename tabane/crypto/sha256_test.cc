#include "tabane/crypto/sha256.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::crypto {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string sum_of(const std::vector<std::string>& pieces) {
  Sha256Stream sum;
  for (const std::string& piece : pieces) sum.put(bytes_of(piece));
  return hexadecimal(sum.finish());
}

// FIPS 180-4, examples.
constexpr const char* kOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, GivesTheSumsOfTheStandard) {
  EXPECT_EQ(hexadecimal(sha256({})), kOfNothing);
  EXPECT_EQ(hexadecimal(sha256(bytes_of("abc"))), kOfAbc);
}

TEST(Hexadecimal, IsReadAsItIsWrittenAndInUpperCase) {
  std::array<std::byte, 3> bytes{};
  EXPECT_TRUE(from_hexadecimal("01abFF", bytes));
  EXPECT_EQ(hexadecimal(bytes), "01abff");
}

TEST(Hexadecimal, IsRefusedIfItIsNotOfJustAsManyBytes) {
  std::array<std::byte, 2> bytes{};
  for (const char* const digits :
       {"", "0", "01", "010", "01020", "010203", "01 2", "0x12", "012g"}) {
    EXPECT_FALSE(from_hexadecimal(digits, bytes)) << digits;
  }
  EXPECT_FALSE(from_hexadecimal(std::string("01\0002", 5), bytes));
  EXPECT_FALSE(from_hexadecimal(std::string("0102\0", 5), bytes));
}

TEST(Sha256Stream, GivesTheSumsOfTheStandard) {
  EXPECT_EQ(sum_of({}), kOfNothing);
  EXPECT_EQ(sum_of({"abc"}), kOfAbc);
  EXPECT_EQ(sum_of({"a", "", "bc"}), kOfAbc);
}

}  // namespace
}  // namespace tabane::crypto
