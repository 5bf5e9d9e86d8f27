// AES-256-GCM of the chunks of sealed files, by either engine with the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tabane/crypto/engine.h"

namespace tabane::crypto {

inline constexpr std::size_t kTagBytes = 16;

// Seals or opens the chunks of one file after another; one thread at a time.
class ChunkCipher {
 public:
  explicit ChunkCipher(Engine engine = Engine::automatic);
  ~ChunkCipher();  // wipes the keys
  ChunkCipher(const ChunkCipher&) = delete;
  ChunkCipher& operator=(const ChunkCipher&) = delete;

  // Turns to another file. cost: below 1 µs.
  void set_key(std::span<const std::byte, 32> key);

  // Encrypts chunk `index`; sealed gets plain.size() + kTagBytes bytes. sealed may begin where
  // plain begins; otherwise no overlap.
  void seal(std::uint32_t index, bool last, std::span<const std::byte> plain,
            std::span<std::byte> sealed);

  // Decrypts and checks chunk `index`; returns false, with `plain` wiped, if the tag does not fit.
  // plain gets sealed.size() - kTagBytes bytes. sealed: at least kTagBytes. Overlap as in seal().
  bool open(std::uint32_t index, bool last, std::span<const std::byte> sealed,
            std::span<std::byte> plain);

  class Gcm;  // by one of the engines

 private:
  std::unique_ptr<Gcm> gcm_;
};

}  // namespace tabane::crypto
