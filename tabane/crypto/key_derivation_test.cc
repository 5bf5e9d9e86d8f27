#include "tabane/crypto/key_derivation.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tabane/core/error.h"
#include "tabane/crypto/bytes_test.h"

namespace tabane::crypto {
namespace {

std::string derive(HkdfSha256& hkdf, const Bytes& key, const Bytes& salt, const Bytes& info,
                   std::size_t n) {
  Bytes okm(n);
  hkdf.extract(salt, key);
  hkdf.expand(info, {}, okm);
  return hex(okm);
}

std::string openssl_derive(Bytes key, Bytes salt, Bytes info, std::size_t n) {
  const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                         EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                     EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  Bytes okm(n);
  EXPECT_EQ(EVP_KDF_derive(context.get(), out(okm), n, parameters), 1);
  return hex(okm);
}

TEST(HkdfSha256, GivesTheTestCasesOfRfc5869) {
  HkdfSha256 hkdf;
  EXPECT_EQ(derive(hkdf, Bytes(22, std::byte{0x0b}), counting(13), counting(10, 0xf0), 42),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_EQ(derive(hkdf, counting(80), counting(80, 0x60), counting(80, 0xb0), 82),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb"
            "41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
  EXPECT_EQ(derive(hkdf, Bytes(22, std::byte{0x0b}), {}, {}, 42),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(HkdfSha256, GivesWhatTheHkdfOfOpensslGives) {
  HkdfSha256 hkdf;
  std::mt19937_64 random(5869);
  for (int i = 0; i < 200; ++i) {
    const Bytes key = random_bytes(1 + random() % 80, random);
    const Bytes salt = random_bytes(1 + random() % 140, random);
    const Bytes info = random_bytes(1 + random() % 140, random);
    const std::size_t n = 1 + random() % 200;
    EXPECT_EQ(derive(hkdf, key, salt, info, n), openssl_derive(key, salt, info, n)) << i;
  }
}

TEST(HkdfSha256, TakesTheInfoInTwoPartsAndExpandsOneExtractionSeveralTimes) {
  HkdfSha256 hkdf;
  hkdf.extract(counting(32, 7), counting(32));
  const Bytes info = counting(88, 3);
  Bytes whole(64), parts(64), shorter(33);
  hkdf.expand(info, {}, whole);
  hkdf.expand(std::span(info).first(24), std::span(info).subspan(24), parts);
  hkdf.expand({}, info, shorter);
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(shorter, Bytes(whole.begin(), whole.begin() + 33));
}

TEST(DeriveKey, IsHkdfOfLabelAndContext) {
  const Bytes info = from_text("label and context");
  EXPECT_EQ(
      hex(derive_key(counting(32), counting(16, 9), "label ", from_text("and context")).bytes()),
      openssl_derive(counting(32), counting(16, 9), info, 32));
}

TEST(HkdfSha256, ForgetsItsKey) {
  HkdfSha256 hkdf;
  Bytes before(32), after(32);
  hkdf.extract(counting(32), counting(32));
  hkdf.expand({}, {}, before);
  hkdf.forget();
  hkdf.expand({}, {}, after);
  EXPECT_NE(before, after);
}

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

X25519Secret secret(std::string_view digits) {
  X25519Secret key;
  std::ranges::copy(from_hex(digits), key.bytes().begin());
  return key;
}

X25519Public open_key(std::string_view digits) {
  X25519Public key;
  std::ranges::copy(from_hex(digits), key.begin());
  return key;
}

TEST(X25519, GivesTheTestVectorsOfRfc7748) {
  EXPECT_EQ(hex(x25519_shared(
                    secret("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
                    open_key("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"))
                    .bytes()),
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
  EXPECT_EQ(hex(x25519_shared(
                    secret("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d"),
                    open_key("e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493"))
                    .bytes()),
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957");
}

TEST(X25519, GivesTheKeysOfAliceAndBobOfRfc7748) {
  const X25519Secret alice =
      secret("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
  const X25519Secret bob =
      secret("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
  EXPECT_EQ(hex(x25519_public(bob)),
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  EXPECT_EQ(hex(x25519_public(alice)),
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  const std::string shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
  EXPECT_EQ(hex(x25519_shared(alice, x25519_public(bob)).bytes()), shared);
  EXPECT_EQ(hex(x25519_shared(bob, x25519_public(alice)).bytes()), shared);
}

// Their products with any secret are 0.
TEST(X25519, RefusesPublicKeysOfSmallOrder) {
  const std::string_view points[] = {
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  };
  const X25519Secret mine =
      secret("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
  for (const std::string_view point : points) {
    EXPECT_THROW(x25519_shared(mine, open_key(point)), core::Error) << point;
  }
}

}  // namespace
}  // namespace tabane::crypto
