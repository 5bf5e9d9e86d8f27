// Bytes that must not stay in memory: wiped when they go out of scope, never copied by accident.
// What lives as long as a job is kept out of swap, too.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "tabane/crypto/wipe.h"

namespace tabane::crypto {

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

// Bytes, zero at first, in pages of their own: out of core dumps, and out of swap as far as
// RLIMIT_MEMLOCK allows; beyond it they are like others. cost: four system calls and a page.
class LockedMemory {
 public:
  LockedMemory() = default;
  explicit LockedMemory(std::size_t bytes);  // throws: std::bad_alloc
  ~LockedMemory() { reset(); }
  LockedMemory(const LockedMemory&) = delete;
  LockedMemory& operator=(const LockedMemory&) = delete;
  LockedMemory(LockedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  LockedMemory& operator=(LockedMemory&& other) noexcept;

  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void reset() noexcept;

  std::span<std::byte> bytes_;
};

// N such bytes; none after they were moved elsewhere.
template <std::size_t N>
class LockedBytes {
 public:
  LockedBytes() : memory_(N) {}

  std::span<std::byte, N> bytes() { return memory_.bytes().template first<N>(); }
  std::span<const std::byte, N> bytes() const { return memory_.bytes().template first<N>(); }

 private:
  LockedMemory memory_;
};

}  // namespace tabane::crypto
