// HKDF-SHA256 (RFC 5869) without an allocation or a lookup a call. Not installed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "tabane/crypto/secret.h"

namespace tabane::crypto {

// One thread at a time. All: throw core::Error if the crypto library fails.
class HkdfSha256 {
 public:
  HkdfSha256();
  ~HkdfSha256();  // wipes what it knows
  HkdfSha256(const HkdfSha256&) = delete;
  HkdfSha256& operator=(const HkdfSha256&) = delete;

  // Makes the pseudo-random key that the calls of expand() start from.
  void extract(std::span<const std::byte> salt, std::span<const std::byte> key);

  // Fills `okm` (at most 255 · 32 bytes) with info = label || context.
  void expand(std::span<const std::byte> label, std::span<const std::byte> context,
              std::span<std::byte> okm);

  // Forgets the pseudo-random key.
  void forget();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One key of 32 bytes: extracts, and expands with info = label || context.
// throws: core::Error if the crypto library fails.
SecretBytes<32> derive_key(std::span<const std::byte> key, std::span<const std::byte> salt,
                           std::string_view label, std::span<const std::byte> context = {});

}  // namespace tabane::crypto
