// A tree key under a wrapping key that is used once: AES-256-GCM with nonce 0.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "tabane/tools/encrypt/tree_key.h"

namespace tabane::encrypt {

inline constexpr std::size_t kWrappedBytes = kTreeKeyBytes + 16;  // key and tag

using WrappedKey = std::array<std::byte, kWrappedBytes>;

// public_fields: authenticated, not hidden. throw: core::Error if the crypto library fails.
WrappedKey wrap_key(const crypto::SecretBytes<32>& wrapping,
                    std::span<const std::byte> public_fields, const TreeKey& key);

// Returns nothing if the tag does not fit.
std::optional<TreeKey> unwrap_key(const crypto::SecretBytes<32>& wrapping,
                                  std::span<const std::byte> public_fields,
                                  const WrappedKey& wrapped);

}  // namespace tabane::encrypt
