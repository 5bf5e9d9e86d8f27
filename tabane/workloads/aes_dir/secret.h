// Bytes that must not stay in memory: wiped when they go out of scope, never copied by accident.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace tabane::workloads::aes_dir {

// Overwrites bytes in a way that the optimiser keeps.
void wipe(std::span<std::byte> bytes) noexcept;

template <std::size_t N>
class SecretBytes {
 public:
  SecretBytes() = default;
  ~SecretBytes() { wipe(bytes_); }
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  SecretBytes(SecretBytes&& other) noexcept : bytes_(other.bytes_) { wipe(other.bytes_); }
  SecretBytes& operator=(SecretBytes&& other) noexcept {
    if (this == &other) return *this;
    bytes_ = other.bytes_;
    wipe(other.bytes_);
    return *this;
  }

  std::span<std::byte, N> bytes() { return bytes_; }
  std::span<const std::byte, N> bytes() const { return bytes_; }

 private:
  std::array<std::byte, N> bytes_{};
};

}  // namespace tabane::workloads::aes_dir
