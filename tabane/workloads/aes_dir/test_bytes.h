// Bytes for the tests of this folder: from and to text and hexadecimal digits, and flipped bits.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/workloads/aes_dir/engine.h"

namespace tabane::workloads::aes_dir {

using Bytes = std::vector<std::byte>;

inline std::string hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

// digits: lower case, an even number.
inline Bytes from_hex(std::string_view digits) {
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(value(digits[i]) << 4 | value(digits[i + 1])));
  }
  return bytes;
}

inline Bytes from_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

// n bytes: first, first + 1 …
inline Bytes counting(std::size_t n, unsigned first = 0) {
  Bytes bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

inline Bytes random_bytes(std::size_t n, std::mt19937_64& random) {
  Bytes bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

inline void flip(std::span<std::byte> bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
}

inline bool all_zero(std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    if (b != std::byte{0}) return false;
  }
  return true;
}

inline std::vector<Engine> engines_here() {
  std::vector<Engine> engines = {Engine::openssl};
  if (ipsec_mb_available()) engines.push_back(Engine::ipsec_mb);
  return engines;
}

}  // namespace tabane::workloads::aes_dir
