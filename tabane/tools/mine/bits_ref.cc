#include <bit>
#include <cstddef>

#include "tabane/tools/mine/bits.h"

namespace tabane::mine {

std::uint64_t count_bits_reference(std::span<const std::uint64_t> a) {
  std::uint64_t count = 0;
  for (const std::uint64_t word : a) count += static_cast<std::uint64_t>(std::popcount(word));
  return count;
}

std::uint64_t count_common_bits_reference(std::span<const std::uint64_t> a,
                                          std::span<const std::uint64_t> b) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += static_cast<std::uint64_t>(std::popcount(a[i] & b[i]));
  }
  return count;
}

void common_bits_reference(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                           std::span<std::uint64_t> out) {
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] & b[i];
}

}  // namespace tabane::mine
