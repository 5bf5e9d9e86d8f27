// scrypt (RFC 7914): keys from passphrases.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tabane/crypto/secret.h"

namespace tabane::crypto {

inline constexpr std::size_t kScryptSaltBytes = 16;

struct ScryptParameters {
  std::uint8_t log2_n = 0;  // 10…22
  std::uint8_t r = 0;       // 1…32
  std::uint8_t p = 0;       // 1…16
  std::array<std::byte, kScryptSaltBytes> salt{};

  auto operator<=>(const ScryptParameters&) const = default;

  std::uint64_t work() const { return (std::uint64_t{r} * p) << log2_n; }      // N r p
  std::uint64_t memory() const { return (std::uint64_t{128} * r) << log2_n; }  // bytes
};

// Whether scrypt has a result for them inside the bounds above, and RFC 7914 allows it.
bool is_legal(const ScryptParameters& parameters);

inline constexpr int kPassphraseLog2N = 18;  // of what is written: 256 MiB, about a second

// N = 2^log2_n, r = 8, p = 1, and a fresh salt. throws: core::Error if the crypto library fails.
ScryptParameters fresh_scrypt_parameters(int log2_n = kPassphraseLog2N);

// Derives a key from a passphrase. cost: 128 r 2^log2_n bytes of memory, 0.1 s and more.
// throws: core::Error if the parameters are refused or the memory is not there.
LockedBytes<32> scrypt_key(std::span<const std::byte> passphrase,
                           const ScryptParameters& parameters);

}  // namespace tabane::crypto
