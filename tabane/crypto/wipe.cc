#include "tabane/crypto/wipe.h"

#include <openssl/crypto.h>

#include <array>
#include <cstring>

namespace tabane::crypto {
namespace {

// What was copied last stands in vector registers still, which the dynamic linker saves on the
// stack when a function is called for the first time.
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

}  // namespace tabane::crypto
