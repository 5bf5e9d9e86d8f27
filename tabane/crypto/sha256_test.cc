#include "tabane/crypto/sha256.h"

#include <gtest/gtest.h>

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

TEST(Sha256Stream, GivesTheSumsOfTheStandard) {
  EXPECT_EQ(sum_of({}), kOfNothing);
  EXPECT_EQ(sum_of({"abc"}), kOfAbc);
  EXPECT_EQ(sum_of({"a", "", "bc"}), kOfAbc);
}

}  // namespace
}  // namespace tabane::crypto
