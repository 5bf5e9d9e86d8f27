#include "tabane/crypto/hkdf.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>

#include "tabane/crypto/openssl.h"
#include "tabane/crypto/test_bytes.h"

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

}  // namespace
}  // namespace tabane::crypto
