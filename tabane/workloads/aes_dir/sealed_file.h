// Files to and from the sealed format, a group of chunks at a time.
#pragma once

#include <cstddef>

#include "tabane/workloads/aes_dir/chunk_cipher.h"
#include "tabane/workloads/aes_dir/file_task.h"
#include "tabane/workloads/aes_dir/page_buffer.h"

namespace tabane::workloads::aes_dir {

// One thread's cipher and buffer.
class SealedFileWorker {
 public:
  explicit SealedFileWorker(Engine engine);

  // What FileTask::start() needs: draws a salt and makes the header; reads and checks the header.
  void prepare_to_seal(FileTask& task);
  static void prepare_to_open(FileTask& task);

  // Chunks [first, first + count) of the file, or to its end.
  void encrypt(FileTask& task, std::uint64_t first, std::uint64_t count);
  // Also verifies: then nothing is written.
  void decrypt(FileTask& task, std::uint64_t first, std::uint64_t count);

 private:
  struct Group;
  void for_groups(FileTask& task, std::uint64_t first, std::uint64_t count,
                  void (SealedFileWorker::*step)(FileTask&, const Group&));
  void seal_group(FileTask& task, const Group& group);
  void open_group(FileTask& task, const Group& group);

  void draw_salt(std::span<std::byte, kFileSaltBytes> salt);

  ChunkCipher cipher_;
  std::array<std::byte, 64 * kFileSaltBytes> salts_;  // random; drawing many at once is far cheaper
  std::size_t salts_used_ = sizeof salts_;            // bytes
  PageBuffer buffer_;                                 // header, then chunks with their tags
};

// Chunks of a file of `plain_bytes`: at least one.
std::uint64_t chunks_of(std::uint64_t plain_bytes, const Header& header);

}  // namespace tabane::workloads::aes_dir
