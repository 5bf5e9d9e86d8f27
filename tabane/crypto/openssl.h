// Helpers for the use of OpenSSL.
#pragma once

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <span>

#include "tabane/core/error.h"

namespace tabane::crypto {

struct CipherContextFree {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, CipherContextFree>;  // wiped when it goes

struct DigestContextFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, DigestContextFree>;

inline const unsigned char* in(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* out(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

inline void require(bool good, const char* what) {
  if (!good) throw core::Error(fmt::format("the crypto library failed: {}", what));
}

}  // namespace tabane::crypto
