// Keys from other keys, passphrases and exchanges: HKDF, scrypt and X25519.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "tabane/crypto/openssl.h"
#include "tabane/crypto/secret.h"

namespace tabane::crypto {

// HKDF-SHA256 (RFC 5869) that neither allocates nor looks an algorithm up in a call. One thread at
// a time. All throw core::Error if the crypto library fails.
class HkdfSha256 {
 public:
  HkdfSha256();

  // Makes the pseudo-random key that the calls of expand() start from.
  void extract(std::span<const std::byte> salt, std::span<const std::byte> key);

  // Fills `okm` (at most 255 · 32 bytes) with info = label || context.
  void expand(std::span<const std::byte> label, std::span<const std::byte> context,
              std::span<std::byte> okm);

  // Forgets the pseudo-random key, which is wiped at the end, too.
  void forget() { wipe(prk_.bytes()); }

 private:
  static constexpr std::size_t kHashBytes = 32;
  using Digest = std::span<std::byte, kHashBytes>;
  using Parts = std::initializer_list<std::span<const std::byte>>;

  // first: before the parts.
  void hash(Parts parts, Digest digest, std::span<const std::byte> first = {});
  // key: at most a block. mac may be the key or one of the parts.
  void hmac(std::span<const std::byte> key, Parts parts, Digest mac);

  DigestContext context_{EVP_MD_CTX_new()};
  SecretBytes<kHashBytes> prk_;
};

// Extracts, and expands with info = label || context to a key of 32 bytes.
// throws: core::Error if the crypto library fails.
SecretBytes<32> derive_key(std::span<const std::byte> key, std::span<const std::byte> salt,
                           std::string_view label, std::span<const std::byte> context = {});

inline constexpr std::size_t kScryptSaltBytes = 16;

// Of scrypt (RFC 7914).
struct ScryptParameters {
  std::uint8_t log2_n = 0;  // 10…22
  std::uint8_t r = 0;       // 1…32
  std::uint8_t p = 0;       // 1…16
  std::array<std::byte, kScryptSaltBytes> salt{};

  auto operator<=>(const ScryptParameters&) const = default;

  std::uint64_t work() const { return (std::uint64_t{r} * p) << log2_n; }      // N r p
  std::uint64_t memory() const { return (std::uint64_t{128} * r) << log2_n; }  // bytes
};

// Whether they are inside the bounds above, and RFC 7914 allows them.
bool is_legal(const ScryptParameters& parameters);

inline constexpr int kPassphraseLog2N = 18;  // of what is written: 256 MiB, about a second

// Returns N = 2^log2_n, r = 8, p = 1, and a fresh salt. throws: core::Error if the crypto library
// fails.
ScryptParameters fresh_scrypt_parameters(int log2_n = kPassphraseLog2N);

// Derives a key from a passphrase. cost: 128 r 2^log2_n bytes of memory, 0.1 s and more.
// throws: core::Error if the parameters are refused or the memory is not there.
LockedBytes<32> scrypt_key(std::span<const std::byte> passphrase,
                           const ScryptParameters& parameters);

// X25519: RFC 7748.
inline constexpr std::size_t kX25519Bytes = 32;

using X25519Secret = LockedBytes<kX25519Bytes>;
using X25519Public = std::array<std::byte, kX25519Bytes>;

// throws: core::Error if the crypto library fails.
X25519Public x25519_public(const X25519Secret& secret);

// Returns the secret that both sides compute, each from its own secret and the other's public key.
// throws: core::Error if it is 0, as public keys of small order make it whatever the secret.
SecretBytes<kX25519Bytes> x25519_shared(const X25519Secret& mine, const X25519Public& theirs);

}  // namespace tabane::crypto
