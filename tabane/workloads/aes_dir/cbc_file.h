// Files to and from AES-CBC with PKCS#7 padding. Encryption runs several files at once through one
// core, because inside a file each block needs the one before.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "tabane/workloads/aes_dir/cbc_cipher.h"
#include "tabane/workloads/aes_dir/file_task.h"
#include "tabane/workloads/aes_dir/page_buffer.h"

namespace tabane::workloads::aes_dir {

// A file on its way to or from AES-CBC; a worker prepares it.
class CbcTask : public FileTask {
 public:
  using FileTask::FileTask;
  // Of the plain file; of an encrypted one, with the padding.
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class CbcFileWorker;
  std::uint64_t bytes_ = 0;
  Block iv_{};
};

class CbcFileWorker {
 public:
  // key: 16 or 32 bytes.
  CbcFileWorker(std::span<const std::byte> key, Engine engine);

  // What FileTask::start() needs.
  void prepare_to_encrypt(CbcTask& task);
  void prepare_to_decrypt(CbcTask& task);

  // Encrypts the files that `next` hands out, already started; null: no more. Ends their pieces.
  void encrypt(const std::function<std::shared_ptr<CbcTask>()>& next);
  // The bytes [first, first + count) behind the stored IV, or to the end. first: a multiple of 16.
  // Also verifies: then nothing is written.
  void decrypt(CbcTask& task, std::uint64_t first, std::uint64_t count);

 private:
  struct Lane;
  std::byte* lane_buffer(std::size_t lane);
  void read_slice(Lane& lane);
  void write_slice(Lane& lane);
  bool is_encrypted(CbcTask& task, int output);
  bool ends_like(CbcTask& task, int output);
  Block decrypt_block(int file, Block iv, std::uint64_t stored, std::uint64_t at,
                      const std::string& what);
  void decrypt_group(CbcTask& task, std::uint64_t first, std::size_t bytes, Block& iv);

  CbcCipher cipher_;
  std::size_t slice_;  // bytes of one lane's next piece
  PageBuffer buffer_;
};

}  // namespace tabane::workloads::aes_dir
