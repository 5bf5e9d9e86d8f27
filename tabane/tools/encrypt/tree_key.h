// The random key of a sealed tree, from which the keys of its files are derived, and the tree's
// name for the machine.
#pragma once

#include <array>
#include <cstddef>

#include "tabane/crypto/secret.h"

namespace tabane::encrypt {

inline constexpr std::size_t kTreeIdBytes = 16;
inline constexpr std::size_t kTreeKeyBytes = 32;

using TreeId = std::array<std::byte, kTreeIdBytes>;
using TreeKey = crypto::LockedBytes<kTreeKeyBytes>;

}  // namespace tabane::encrypt
