// Files to and from the sealed format, a group of chunks at a time.
#pragma once

#include <cstddef>

#include "tabane/workloads/aes_dir/chunk_cipher.h"
#include "tabane/workloads/aes_dir/file_task.h"
#include "tabane/workloads/aes_dir/page_buffer.h"

namespace tabane::workloads::aes_dir {

// A file on its way to or from the sealed format; a worker prepares it.
class SealedTask : public FileTask {
 public:
  using FileTask::FileTask;
  std::uint64_t chunk_bytes() const { return header_.chunk_bytes(); }
  std::uint64_t chunks() const;  // at least one

 private:
  friend class SealedFileWorker;
  Header header_;
  FileKeys keys_;
  std::array<std::byte, kHeaderBytes> header_bytes_{};  // the fixed part
  std::uint64_t plain_bytes_ = 0;
};

// One thread's cipher and buffer.
class SealedFileWorker {
 public:
  explicit SealedFileWorker(Engine engine);

  // What FileTask::start() needs: draws a salt and makes the header; reads and checks the header.
  void prepare_to_seal(SealedTask& task);
  void prepare_to_open(SealedTask& task);

  // Chunks [first, first + count) of the file, or to its end.
  void encrypt(SealedTask& task, std::uint64_t first, std::uint64_t count);
  // Also verifies: then nothing is written.
  void decrypt(SealedTask& task, std::uint64_t first, std::uint64_t count);

 private:
  struct Group;
  static void hold_against_manifest(SealedTask& task);
  void for_groups(SealedTask& task, std::uint64_t first, std::uint64_t count,
                  void (SealedFileWorker::*step)(SealedTask&, const Group&));
  void seal_group(SealedTask& task, const Group& group);
  void open_group(SealedTask& task, const Group& group);

  bool is_sealed(SealedTask& task, int output);
  bool ends_like(SealedTask& task, int output);
  std::span<std::byte> open_last_chunk(const SealedTask& task, int sealed, const Header& header,
                                       const FileKeys& keys);

  void draw_salt(std::span<std::byte, kFileSaltBytes> salt);

  ChunkCipher cipher_;
  std::array<std::byte, 64 * kFileSaltBytes> salts_;  // random; drawing many at once is far cheaper
  std::size_t salts_used_ = sizeof salts_;            // bytes
  PageBuffer buffer_;                                 // header, then chunks with their tags
  std::size_t chunks_at_ = 0;                         // where in it
};

}  // namespace tabane::workloads::aes_dir
