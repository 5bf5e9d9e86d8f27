// Loops over the bits of items, with run-time dispatch, and their plain references.
#pragma once

#include <cstdint>
#include <span>

namespace tabane::mine {

// All spans of a call have one size.

// Returns how many bits are 1.
std::uint64_t count_bits(std::span<const std::uint64_t> a);
// Returns how many bits are 1 in both.
std::uint64_t count_common_bits(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);
// out := the bits that are 1 in both; it may be one of them.
void common_bits(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                 std::span<std::uint64_t> out);

std::uint64_t count_bits_reference(std::span<const std::uint64_t> a);
std::uint64_t count_common_bits_reference(std::span<const std::uint64_t> a,
                                          std::span<const std::uint64_t> b);
void common_bits_reference(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                           std::span<std::uint64_t> out);

}  // namespace tabane::mine
