// Random numbers for keys.
#pragma once

#include <cstddef>
#include <span>

namespace tabane::crypto {

// Fills bytes with cryptographically strong random numbers. Safe in threads and after a fork.
// throws: core::Error if the crypto library fails.
void fill_random(std::span<std::byte> bytes);

}  // namespace tabane::crypto
