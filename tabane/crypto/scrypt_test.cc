#include "tabane/crypto/scrypt.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/crypto/test_bytes.h"

namespace tabane::crypto {
namespace {

TEST(Scrypt, DependsOnPassphraseSaltAndParameters) {
  const ScryptParameters parameters{.log2_n = 10, .r = 8, .p = 1, .salt = {}};
  const auto key = [](const char* passphrase, ScryptParameters p) {
    return hex(scrypt_key(from_text(passphrase), p).bytes());
  };
  const std::string reference = key("secret", parameters);
  EXPECT_EQ(key("secret", parameters), reference);
  EXPECT_NE(key("Secret", parameters), reference);
  EXPECT_NE(key("", parameters), reference);
  ScryptParameters other = parameters;
  other.salt[0] ^= std::byte{1};
  EXPECT_NE(key("secret", other), reference);
  other = parameters;
  other.p = 2;
  EXPECT_NE(key("secret", other), reference);
}

TEST(Scrypt, RefusesParametersOutOfBoundsAndMemoryBeyondFourGibibytes) {
  EXPECT_THROW(scrypt_key({}, {.log2_n = 9, .r = 8, .p = 1, .salt = {}}), core::Error);
  EXPECT_THROW(scrypt_key({}, {.log2_n = 10, .r = 0, .p = 1, .salt = {}}), core::Error);
  EXPECT_THROW(scrypt_key({}, {.log2_n = 21, .r = 17, .p = 1, .salt = {}}), core::Error);
}

TEST(FreshScryptParameters, AreThoseOfTheFormatWithANewSalt) {
  const ScryptParameters one = fresh_scrypt_parameters(), two = fresh_scrypt_parameters();
  EXPECT_EQ(one.log2_n, 18);
  EXPECT_EQ(one.r, 8);
  EXPECT_EQ(one.p, 1);
  EXPECT_NE(one.salt, two.salt);
}

}  // namespace
}  // namespace tabane::crypto
