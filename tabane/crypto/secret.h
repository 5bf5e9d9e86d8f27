// Bytes that must not stay in memory: made at random, never copied by accident, kept out of swap
// where they live long, and wiped at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace tabane::crypto {

// Sets bytes to 0; the compiler does not optimise it away.
void wipe(std::span<std::byte> bytes) noexcept;

// Wipes the stack below the caller as far as functions of a crypto library use it: they may leave
// results there, and stacks of threads outlive them.
void wipe_stack() noexcept;

// Wipes the elements of a range at its own end, also when something is thrown. The range must live
// longer and keep its memory: no growth, no move.
class WipedAtEnd {
 public:
  template <class Range>
  explicit WipedAtEnd(Range& range) : bytes_(std::as_writable_bytes(std::span(range))) {}
  ~WipedAtEnd() { wipe(bytes_); }
  WipedAtEnd(const WipedAtEnd&) = delete;
  WipedAtEnd& operator=(const WipedAtEnd&) = delete;

 private:
  std::span<std::byte> bytes_;
};

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
  explicit LockedMemory(std::size_t bytes);                  // throws: std::bad_alloc
  static LockedMemory of(std::span<const std::byte> bytes);  // a copy
  ~LockedMemory() { reset(); }
  LockedMemory(const LockedMemory&) = delete;
  LockedMemory& operator=(const LockedMemory&) = delete;
  LockedMemory(LockedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  LockedMemory& operator=(LockedMemory&& other) noexcept;

  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  void reset() noexcept;

  std::span<std::byte> bytes_;
};

// N bytes of locked memory; none after they were moved elsewhere.
template <std::size_t N>
class LockedBytes {
 public:
  LockedBytes() : memory_(N) {}

  std::span<std::byte, N> bytes() { return memory_.bytes().template first<N>(); }
  std::span<const std::byte, N> bytes() const { return memory_.bytes().template first<N>(); }

 private:
  LockedMemory memory_;
};

// A buffer for file data that begins at a page. Wiped at the end.
//
// The place inside a page matters: where the kernel copies a page of a file to an address 8 to 16
// bytes behind a page's start, loads and stores alias, and some processors copy seven times slower
// (seen on Zen 3). malloc puts large blocks exactly there.
class PageBuffer {
 public:
  static constexpr std::size_t kPage = 4096;

  PageBuffer() = default;
  ~PageBuffer() { wipe({data_.get(), size_}); }
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;

  // Makes room for `bytes`; growth loses the content. throws: std::bad_alloc.
  void reserve(std::size_t bytes) {
    if (bytes <= size_) return;
    wipe({data_.get(), size_});
    size_ = (bytes + kPage - 1) / kPage * kPage;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, size_)));
    if (!data_) throw std::bad_alloc();
  }

  std::byte* data() { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

// Fills bytes with cryptographically strong random numbers. Safe in threads and after a fork.
// throws: core::SystemError if the system has none.
void fill_random(std::span<std::byte> bytes);

}  // namespace tabane::crypto
