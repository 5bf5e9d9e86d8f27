// SHA-256 of bytes in memory or piece by piece, and its text.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tabane/crypto/openssl.h"

namespace tabane::crypto {

// Returns two digits for each byte, in lower case.
std::string hexadecimal(std::span<const std::byte> bytes);
// Reads such digits, or some in upper case; returns whether they are those of just as many bytes.
bool from_hexadecimal(std::string_view digits, std::span<std::byte> bytes);

using Sha256Sum = std::array<std::byte, 32>;

// throw: core::Error if the crypto library fails.
Sha256Sum sha256(std::span<const std::byte> bytes);

class Sha256Stream {
 public:
  Sha256Stream();

  void put(std::span<const std::byte> bytes);
  // Returns the sum of all; to be called once.
  Sha256Sum finish();

 private:
  DigestContext context_{EVP_MD_CTX_new()};
};

}  // namespace tabane::crypto
