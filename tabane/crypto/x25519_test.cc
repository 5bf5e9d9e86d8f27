#include "tabane/crypto/x25519.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/crypto/test_bytes.h"

namespace tabane::crypto {
namespace {

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
