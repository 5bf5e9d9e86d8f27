// The frame of all files and records of mining: a magic word, a head and a payload, and behind them
// the SHA-256 of all that. Numbers are little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/crypto/sha256.h"

namespace tabane::mine::bgv {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

inline constexpr std::size_t kDigestBytes = sizeof(crypto::Sha256Sum);

inline crypto::Sha256Sum digest_of(std::string_view bytes) {
  return crypto::sha256(std::as_bytes(std::span(bytes)));
}

// Appends values of fixed size.
class FrameWriter {
 public:
  // bytes: of the whole frame, so that no growth leaves copies of a secret behind.
  FrameWriter(std::string_view magic, std::size_t bytes) : whole_(bytes) {
    bytes_.reserve(bytes);
    bytes_.append(magic);
  }

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T>
  void put_all(std::span<const T> values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }

  // Appends the digest. To be called once.
  std::string finish() {
    put(digest_of(bytes_));
    TABANE_ASSERT(bytes_.size() == whole_);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::size_t whole_;
};

// Returns the value at an offset. The bytes must hold all of it.
template <class T>
T value_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Whether a whole frame ends in the digest of what is before it. frame: at least kDigestBytes.
inline bool has_right_digest(std::string_view frame) {
  const std::size_t hashed = frame.size() - kDigestBytes;
  return value_at<crypto::Sha256Sum>(frame, hashed) == digest_of(frame.substr(0, hashed));
}

}  // namespace tabane::mine::bgv
