// Files to and from the sealed format, a group of chunks at a time.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/file_task.h"

namespace tabane::encrypt {

// Chunks of a file that stand in a buffer together, each followed by its tag.
struct ChunkGroup {
  std::uint64_t first;  // chunk
  std::size_t count;
  std::size_t chunk;          // bytes of a full chunk
  std::uint64_t plain_bytes;  // of the file
  std::size_t header;         // bytes

  static constexpr std::size_t kMost = 64;  // chunks of 4 KiB, the smallest

  std::size_t stride() const { return chunk + crypto::kTagBytes; }
  std::uint64_t plain_offset() const { return first * chunk; }
  std::uint64_t sealed_offset() const { return header + first * stride(); }
  std::size_t plain_size() const;
  std::size_t sealed_size() const { return plain_size() + count * crypto::kTagBytes; }
  std::size_t plain_of(std::size_t i) const;  // bytes of chunk first + i
  bool is_last(std::size_t i) const { return (first + i + 1) * chunk >= plain_bytes; }
  // Where the plain chunks stand in the buffer.
  std::span<const iovec> places(std::byte* chunks, std::array<iovec, kMost>& store) const;
  DamageError damage_of(std::size_t i) const;  // of a chunk whose tag does not fit
};

// A file on its way to or from the sealed format, which prepares it.
class SealedTask : public FileTask {
 public:
  using FileTask::FileTask;
  std::uint64_t chunk_bytes() const { return header_.chunk_bytes(); }
  std::uint64_t chunks() const;  // at least one

  // For who seals or opens it: its keys, the chunks from `first` on, and these read and written. In
  // front of sealed chunks that are written there is room for the header, which the first ones take
  // along. throw: ChangedWhileRead; core::SystemError.
  const FileKeys& keys() const { return keys_; }
  ChunkGroup group(std::uint64_t first, std::size_t count) const;
  void read_plain(const ChunkGroup& group, std::byte* chunks) const;
  void write_sealed(const ChunkGroup& group, std::byte* chunks);
  void read_sealed(const ChunkGroup& group, std::byte* chunks) const;
  void write_opened(const ChunkGroup& group, std::byte* chunks) const;

 private:
  friend class SealedFormat;
  Header header_;
  FileKeys keys_;
  std::array<std::byte, kHeaderBytes> header_bytes_{};  // the fixed part
  std::uint64_t plain_bytes_ = 0;
};

// On the CPU.
class SealedFormat : public Format {
 public:
  explicit SealedFormat(const JobState& job)
      : seals_(job.request.encrypts()), cipher_(job.engine) {}

  void prepare(FileTask& task) override;
  Range cut(const FileTask& task, const Unit& unit, std::uint64_t piece_bytes) const override;
  void work(const std::shared_ptr<FileTask>& task, const Range& range) override;

 protected:
  // Seals or opens a chunk of a group in `in` to its place in `out`, which may be the same. Returns
  // false if what is opened is not what was sealed. The cipher has the key.
  bool work_on_chunk(const ChunkGroup& group, std::size_t i, std::byte* in, std::byte* out);

  const bool seals_;
  crypto::ChunkCipher cipher_;

 private:
  // Draws a salt and makes the header; reads and checks the header.
  void prepare_to_seal(SealedTask& task);
  void prepare_to_open(SealedTask& task);
  std::vector<std::byte> read_first(const SealedTask& task);
  static void hold_against_manifest(SealedTask& task);
  // The chunks of the range, or to the file's end.
  void work_on(SealedTask& task, const Range& range);

  bool is_sealed(SealedTask& task, int output);
  bool ends_like(SealedTask& task, int output);
  std::span<std::byte> open_last_chunk(const SealedTask& task, int sealed, const Header& header,
                                       const FileKeys& keys);

  void draw_salt(std::span<std::byte, kFileSaltBytes> salt);

  std::array<std::byte, 64 * kFileSaltBytes> salts_;  // random; drawing many at once is far cheaper
  std::size_t salts_used_ = sizeof salts_;            // bytes
  crypto::PageBuffer buffer_;                         // header, then chunks with their tags
  bool holds_file_ = false;  // all of the file that prepare() has seen last is in the buffer
};

}  // namespace tabane::encrypt
