// X25519 (RFC 7748) by the system's crypto library.
#pragma once

#include <array>
#include <cstddef>

#include "tabane/crypto/secret.h"

namespace tabane::crypto {

inline constexpr std::size_t kX25519Bytes = 32;

using X25519Secret = LockedBytes<kX25519Bytes>;
using X25519Public = std::array<std::byte, kX25519Bytes>;

// throws: core::Error if the crypto library fails.
X25519Public x25519_public(const X25519Secret& secret);

// What both sides compute, each from its own secret and the other's public key.
// throws: core::Error if it is 0, as public keys of small order make it whatever the secret.
SecretBytes<kX25519Bytes> x25519_shared(const X25519Secret& mine, const X25519Public& theirs);

}  // namespace tabane::crypto
