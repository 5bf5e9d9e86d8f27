#include "tabane/crypto/x25519.h"

#include <openssl/crypto.h>

#include <memory>

#include "tabane/crypto/openssl.h"

namespace tabane::crypto {
namespace {

struct KeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyFree>;

Key key_of(const X25519Secret& secret) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, in(secret.bytes()), kX25519Bytes));
  require(key != nullptr, "a secret key of X25519");
  return key;
}

}  // namespace

X25519Public x25519_public(const X25519Secret& secret) {
  X25519Public result;
  std::size_t size = result.size();
  require(EVP_PKEY_get_raw_public_key(key_of(secret).get(), out(result), &size) == 1, "X25519");
  return result;
}

SecretBytes<kX25519Bytes> x25519_shared(const X25519Secret& mine, const X25519Public& theirs) {
  const Key secret = key_of(mine);
  const Key other(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, in(theirs), theirs.size()));
  const std::unique_ptr<EVP_PKEY_CTX, KeyFree> context(EVP_PKEY_CTX_new(secret.get(), nullptr));
  require(other && context && EVP_PKEY_derive_init(context.get()) == 1 &&
              EVP_PKEY_derive_set_peer_ex(context.get(), other.get(), 0) == 1,
          "X25519");
  SecretBytes<kX25519Bytes> shared;
  std::size_t size = kX25519Bytes;
  // The library refuses the shared secret 0 from version 1.1.0 on; other providers may not.
  const bool good = EVP_PKEY_derive(context.get(), out(shared.bytes()), &size) == 1;
  constexpr std::array<std::byte, kX25519Bytes> kZero{};
  if (!good || CRYPTO_memcmp(shared.bytes().data(), kZero.data(), kX25519Bytes) == 0) {
    throw core::Error("the public key is of small order: it protects nothing");
  }
  return shared;
}

}  // namespace tabane::crypto
