// Bytes for tests: from and to text and hexadecimal digits, flipped bits, and what reads and writes
// them.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/engine.h"
#include "tabane/crypto/sha256.h"

namespace tabane::crypto {

using Bytes = std::vector<std::byte>;

inline std::string hex(std::span<const std::byte> bytes) { return hexadecimal(bytes); }

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

inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// n bytes: first, first + 1 …
inline Bytes counting(std::size_t n, unsigned first = 0) {
  Bytes bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

// Text that looks random and is the same each time.
inline std::string pattern(std::size_t bytes, unsigned seed) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24);
  return text;
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

// Takes what a writer gives.
inline auto sink_into(Bytes& bytes) {
  return [&bytes](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
}

// Gives a reader these bytes, and then no more.
inline auto source_of(std::span<const std::byte> bytes) {
  return [bytes](std::span<std::byte> place) mutable {
    const std::size_t here = std::min(place.size(), bytes.size());
    std::copy_n(bytes.begin(), here, place.begin());
    bytes = bytes.subspan(here);
    return here;
  };
}

inline Bytes seal_chunk(ChunkCipher& cipher, std::uint32_t index, bool last, const Bytes& plain) {
  Bytes sealed(plain.size() + kTagBytes);
  cipher.seal(index, last, plain, sealed);
  return sealed;
}

inline std::vector<Engine> engines_here() {
  std::vector<Engine> engines = {Engine::openssl};
  if (ipsec_mb_available()) engines.push_back(Engine::ipsec_mb);
  return engines;
}

}  // namespace tabane::crypto
