// Helpers for the use of OpenSSL.
#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <span>

#include "tabane/core/error.h"

namespace tabane::crypto {

template <auto kFree>
struct FreedBy {
  void operator()(auto* object) const { kFree(object); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreedBy<EVP_CIPHER_CTX_free>>;  // is wiped
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>>;

inline const unsigned char* in(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* out(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

inline void require(bool good, const char* what) {
  if (!good) throw core::Error("the crypto library failed: {}", what);
}

}  // namespace tabane::crypto
