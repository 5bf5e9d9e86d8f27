#include <algorithm>
#include <cstring>

#include "conformance.h"

namespace tabane::conformance {
namespace {

// A bijection that mixes well (splitmix64's output function).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::vector<std::size_t> sizes_around_borders(const Settings& settings) {
  std::vector<std::size_t> sizes{0, 1, 2, 7, 8, 9};
  for (const std::size_t border : {16, 32, 48, 64, 128, 512, 4096}) {
    sizes.insert(sizes.end(), {border - 1, border, border + 1});
  }
  for (const std::size_t border : {8, 16, 64, 128, 256, 512, 1024}) {
    const std::size_t bytes = border * 1024;
    if (settings.quick && border != 64 && border != 256) continue;
    sizes.insert(sizes.end(), {bytes - 1, bytes, bytes + 1});
  }
  return sizes;
}

Bytes pattern(std::size_t size, std::uint64_t key) {
  Bytes bytes(size);
  std::uint64_t word = mix(key);
  for (std::size_t at = 0; at < size; at += sizeof word) {
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
    word += 0x9e3779b97f4a7c15;
  }
  return bytes;
}

void require_pattern(std::span<const std::byte> bytes, std::size_t size, std::uint64_t key,
                     std::string_view what) {
  require(bytes.size() == size, "{}: {} bytes came where {} were sent", what, bytes.size(), size);
  const Bytes wanted = pattern(size, key);
  const auto [seen, expected] = std::ranges::mismatch(bytes, wanted);
  require(seen == bytes.end(), "{}: byte {} of {} is wrong", what, seen - bytes.begin(), size);
}

}  // namespace tabane::conformance
