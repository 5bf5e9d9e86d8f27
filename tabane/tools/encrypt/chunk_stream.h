// The chunks of a sealed file one after the other, for what is not a file in a tree: the
// manifest, and standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

// What stands before the chunks, and their keys.
struct StreamSeal {
  std::vector<std::byte> header;
  FileKeys keys;
  std::size_t chunk_bytes = 0;
};

// Memory: one chunk. What `sink` throws comes out of both functions.
class ChunkWriter {
 public:
  // sink: takes the sealed chunks, which stand behind a header.
  using Sink = std::function<void(std::span<const std::byte>)>;
  ChunkWriter(const FileKeys& keys, std::size_t chunk_bytes, Sink sink,
              crypto::Engine engine = crypto::Engine::automatic);

  void put(std::span<const std::byte> plain);
  // Writes the last chunk; to be called once.
  void finish();

 private:
  void seal(bool last);

  crypto::ChunkCipher cipher_;
  Sink sink_;
  std::size_t chunk_bytes_, filled_ = 0;
  std::uint64_t index_ = 0;
  crypto::PageBuffer buffer_;  // of a chunk and its tag
};

// Memory: two chunks.
class ChunkReader {
 public:
  // source: fills the bytes as far as there are any and returns how many; less: the end.
  // first_offset: bytes of the header, where the chunks begin.
  using Source = std::function<std::size_t(std::span<std::byte>)>;
  ChunkReader(const FileKeys& keys, std::size_t chunk_bytes, std::uint64_t first_offset,
              Source source, crypto::Engine engine = crypto::Engine::automatic);

  // Fills the bytes with what was sealed, as far as there is any, and returns how many.
  // throws: DamageError with the offset in the sealed file; nothing of a damaged chunk is given.
  std::size_t get(std::span<std::byte> plain);

 private:
  bool open_next();

  crypto::ChunkCipher cipher_;
  Source source_;
  std::size_t chunk_bytes_;
  std::uint64_t offset_;
  std::uint64_t index_ = 0;
  crypto::PageBuffer buffer_;  // the chunk at hand, then what was read of the one behind it
  std::size_t ahead_ = 0;
  std::size_t at_ = 0, plain_ = 0;  // in the chunk at hand
  bool ended_ = false;
};

}  // namespace tabane::encrypt
