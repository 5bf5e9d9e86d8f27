// SHA-256 of bytes in memory or piece by piece, and its text.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;  // of OpenSSL

namespace tabane::crypto {

// Returns two digits for each byte, in lower case.
std::string hexadecimal(std::span<const std::byte> bytes);

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
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace tabane::crypto
