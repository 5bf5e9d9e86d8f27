#include "tabane/crypto/aes_schedule.h"

#include <gtest/gtest.h>

#include "tabane/crypto/test_bytes.h"

namespace tabane::crypto {
namespace {

std::string encrypted(std::string_view key, std::string_view block) {
  const Bytes bytes = from_hex(block);
  Words words{};
  for (std::size_t i = 0; i < 16; ++i) {
    words[i / 4] |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * (i % 4));
  }
  words = encrypt_block(expand_key(from_hex(key)), words);
  return hex(std::as_bytes(std::span(words)));
}

// FIPS 197, appendix C.
TEST(AesBlock, IsThatOfTheStandard) {
  constexpr std::string_view kPlain = "00112233445566778899aabbccddeeff";
  EXPECT_EQ(encrypted("000102030405060708090a0b0c0d0e0f", kPlain),
            "69c4e0d86a7b0430d8cdb78070b4c55a");
  EXPECT_EQ(encrypted("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", kPlain),
            "8ea2b7ca516745bfeafc49904b496089");
}

// Appendix A.3, the last words.
TEST(AesKey, IsExpandedAsInTheStandard) {
  const RoundKeys keys =
      expand_key(from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"));
  EXPECT_EQ(keys.rounds, 14u);
  EXPECT_EQ(hex(std::as_bytes(std::span(keys.words[14]))), "fe4890d1e6188d0b046df344706c631e");
}

constexpr Polynomial kOne{std::uint64_t{1} << 63, 0}, kX{std::uint64_t{1} << 62, 0};

// McGrew and Viega, test cases 2 and 14: the hash key, and a product that they give.
TEST(GcmPolynomial, IsThatOfTheStandard) {
  const RoundKeys zero = expand_key(Bytes(16));
  const Polynomial h{0x66e94bd4ef8a2c3b, 0x884cfa59ca342b2e};
  EXPECT_EQ(hash_key(zero), h);
  const Polynomial c{0x0388dace60b6a392, 0xf328c2b971b2fe78};
  EXPECT_EQ(c * h, (Polynomial{0x5e2ec74691706288, 0x2c85b0685353deb7}));
}

TEST(GcmPolynomial, MultipliesAsAFieldDoes) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) {
    const Polynomial a{random(), random()}, b{random(), random()}, c{random(), random()};
    EXPECT_EQ(a * kOne, a);
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ((a + b) * c, a * c + b * c);
  }
}

TEST(GcmPolynomial, HasItsMultiplesByTheirCoefficients) {
  std::mt19937_64 random(8);
  const Polynomial base{random(), random()};
  const auto multiples = multiples_of(base);
  EXPECT_EQ(multiples[0], Polynomial{});
  EXPECT_EQ(multiples[8], base);
  EXPECT_EQ(multiples[4], base * kX);
  EXPECT_EQ(multiples[9], base + base * kX * kX * kX);
}

}  // namespace
}  // namespace tabane::crypto
