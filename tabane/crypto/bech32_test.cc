#include <gtest/gtest.h>

#include <cctype>

#include "tabane/crypto/bytes_test.h"
#include "tabane/crypto/keys.h"

namespace tabane::crypto {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

const std::string kLongPrefix =
    "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio";

TEST(Bech32, TakesTheLegalTextsOfBip173AndGivesThemBack) {
  const struct {
    std::string text, prefix;
    std::size_t values;
  } vectors[] = {
      {"A12UEL5L", "a", 0},
      {"a12uel5l", "a", 0},
      {kLongPrefix + "1tt5tgs", kLongPrefix, 0},
      {"abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", "abcdef", 32},
      {"11" + std::string(82, 'q') + "c8247j", "1", 82},
      {"split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "split", 48},
      {"?1ezyfcl", "?", 0},
  };
  for (const auto& vector : vectors) {
    const auto decoded = decode_bech32(vector.text);
    ASSERT_TRUE(decoded) << vector.text;
    EXPECT_EQ(decoded->prefix, vector.prefix);
    EXPECT_EQ(decoded->values.size(), vector.values) << vector.text;
    EXPECT_EQ(encode_bech32(decoded->prefix, decoded->values), lower(vector.text));
  }
  const auto all = decode_bech32("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw");
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(all->values[i], static_cast<std::byte>(i));
}

TEST(Bech32, RefusesTheIllegalTextsOfBip173) {
  const std::string texts[] = {
      "\x20"
      "1nwldj5",
      "\x7f"
      "1axkwrx",
      "\x80"
      "1eym55h",
      "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx",
      "pzry9x0s0muk",
      "1pzry9x0s0muk",
      "x1b4n0q5v",
      "li1dgmt3",
      "de1lg7wt\xff",
      "A1G7SGD8",
      "10a06t8",
      "1qzzfhee",
      "",
      "1",
  };
  for (const std::string& text : texts) EXPECT_FALSE(decode_bech32(text)) << text;
}

TEST(Bech32, RefusesMixedCasesAndTextsThatAreTooLong) {
  EXPECT_FALSE(decode_bech32("a12uEl5l"));
  EXPECT_FALSE(decode_bech32("A12uel5l"));
  EXPECT_TRUE(decode_bech32(encode_bech32("a", Bytes(82))));
  EXPECT_FALSE(decode_bech32(encode_bech32("a", Bytes(83))));
}

TEST(Bech32, DetectsEveryCharacterThatWasChanged) {
  const std::string text = bech32_of_bytes("tabane", counting(32, 0xa5));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = text[at] == 'q' ? 'p' : 'q';
    EXPECT_FALSE(decode_bech32(other)) << at;
  }
}

TEST(Bech32, GivesBytesBackOfAnyNumberAndInEitherCase) {
  for (std::size_t n = 0; n < 40; ++n) {
    const Bytes bytes = counting(n, 0xa5);
    const std::string text = bech32_of_bytes("x", bytes);
    for (const std::string& written : {text, upper(text)}) {
      const auto decoded = decode_bech32(written);
      ASSERT_TRUE(decoded);
      Bytes again(n);
      EXPECT_TRUE(bytes_of_bech32(decoded->values, again));
      EXPECT_EQ(again, bytes);
    }
  }
}

TEST(Bech32, GivesBytesOnlyOfExactlyTheirNumberWithNothingLeftOver) {
  Bytes bytes(32);
  Bytes values(52);
  EXPECT_TRUE(bytes_of_bech32(values, bytes));
  values[51] = std::byte{1};
  EXPECT_FALSE(bytes_of_bech32(values, bytes));
  values[51] = std::byte{16};
  EXPECT_TRUE(bytes_of_bech32(values, bytes));
  EXPECT_FALSE(bytes_of_bech32(Bytes(51), bytes));
  EXPECT_FALSE(bytes_of_bech32(Bytes(53), bytes));
}

}  // namespace
}  // namespace tabane::crypto
