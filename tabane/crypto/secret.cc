#include "tabane/crypto/secret.h"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tabane/core/error.h"

namespace tabane::crypto {
namespace {

// Before anything else does: without openssl.cnf, names of algorithms that nothing here asks for,
// and a cleanup at the end of the process.
[[gnu::constructor]] void start_openssl() {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
                          OPENSSL_INIT_NO_ADD_ALL_DIGESTS | OPENSSL_INIT_NO_ATEXIT,
                      nullptr);
}

// Vector registers still hold what was copied last, and the dynamic linker saves them on the stack
// when a function is called for the first time.
[[gnu::noinline]] void overwrite_registers() noexcept {
  static void* (*volatile const copy)(void*, const void*, std::size_t) = std::memcpy;
  const std::array<std::byte, 256> zeros{};
  std::array<std::byte, zeros.size()> place;
  for (std::size_t size = 16; size <= zeros.size(); size *= 2) {
    copy(place.data(), zeros.data(), size);
  }
}

[[gnu::noinline]] void wipe_below() noexcept {
  std::array<std::byte, std::size_t{32} << 10> unused;
  wipe(unused);
}

}  // namespace

void wipe(std::span<std::byte> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

void wipe_stack() noexcept {
  overwrite_registers();
  wipe_below();
}

LockedMemory::LockedMemory(std::size_t bytes) {
  if (bytes == 0) return;
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  bytes_ = {static_cast<std::byte*>(pages), bytes};
  madvise(pages, bytes, MADV_DONTDUMP);
  mlock(pages, bytes);  // refused beyond RLIMIT_MEMLOCK
}

LockedMemory LockedMemory::of(std::span<const std::byte> bytes) {
  LockedMemory memory(bytes.size());
  std::ranges::copy(bytes, memory.bytes().begin());
  return memory;
}

LockedMemory& LockedMemory::operator=(LockedMemory&& other) noexcept {
  if (this == &other) return *this;
  reset();
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

void LockedMemory::reset() noexcept {
  if (bytes_.empty()) return;
  wipe(bytes_);
  munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
}

void fill_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR) throw core::SystemError("getrandom", "", errno);
    if (got > 0) bytes = bytes.subspan(got);
  }
}

}  // namespace tabane::crypto
