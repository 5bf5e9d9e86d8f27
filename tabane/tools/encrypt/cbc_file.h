// Files to and from AES-CBC with PKCS#7 padding. Encryption runs several files at once through one
// core, because inside a file each block needs the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tabane/crypto/cbc_cipher.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/file_task.h"
#include "tabane/tools/encrypt/plan.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// A file on its way to or from AES-CBC, which prepares it.
class CbcTask : public FileTask {
 public:
  using FileTask::FileTask;
  // Of the plain file; of an encrypted one, with the padding.
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class CbcFormat;
  std::uint64_t bytes_ = 0;
  crypto::Block iv_{};
};

class CbcFormat : public Format {
 public:
  // The job's device encrypts as long as it can. upcoming: asked when encrypting.
  CbcFormat(const JobState& job, std::function<Upcoming()> upcoming);

  void prepare(FileTask& task) override;
  Range cut(const FileTask& task, const Unit& unit, std::uint64_t piece_bytes) const override;
  // Files of several units are encrypted at once.
  void work(const std::shared_ptr<FileTask>& task, const Range& range) override;
  void finish() override;
  bool works_at_once() const override { return !encrypts_; }

 private:
  // A file that is being encrypted. In its lane's buffer: the IV, then the slice with room for its
  // padding; between two slices it needs none.
  struct OpenFile {
    std::shared_ptr<CbcTask> task;
    std::uint64_t done = 0;      // plain bytes
    std::byte* slice = nullptr;  // of this round
    std::byte* out = nullptr;    // where it is encrypted to: the same, or the slot's output
    std::size_t bytes = 0;       // in it, padded at the end
    bool last = false;

    std::uint64_t left() const { return task->bytes() - done; }
  };
  void prepare_to_encrypt(CbcTask& task);
  void prepare_to_decrypt(CbcTask& task);
  // Files that are encrypted at about the cost of one.
  std::size_t lanes() const { return slot_ ? device_->chains_per_slot() : cipher_.lanes(); }
  bool takes_more() const;
  // Encrypts the next slices of as many files as there are lanes, and ends the pieces of those that
  // are done.
  void encrypt_slices();
  // The bytes [first, first + count) behind the stored IV, or to the end. first: a multiple of 16.
  // Also verifies: then nothing is written.
  void decrypt(CbcTask& task, std::uint64_t first, std::uint64_t count);
  void open_slot(std::span<const std::byte> key);
  void encrypt_slices(std::span<OpenFile> files);  // one of each, at most lanes() files
  void read_slice(OpenFile& file, std::size_t slice);
  void write_slice(OpenFile& file);
  bool is_encrypted(CbcTask& task, int output);
  bool ends_like(CbcTask& task, int output);
  void decrypt_group(CbcTask& task, std::uint64_t first, std::size_t bytes, crypto::Block& iv);

  const bool encrypts_;
  const std::function<Upcoming()> upcoming_;
  crypto::CbcCipher cipher_;
  std::vector<OpenFile> open_;
  std::size_t slice_;  // bytes of one lane
  crypto::PageBuffer buffer_;
  crypto::DeviceAes* device_;
  std::unique_ptr<crypto::DeviceSlot> slot_;  // null: all is done on the CPU
};

// Decrypts the last blocks of up to 32 files of the tree. Under the right key the padding of every
// file that was not changed is legal; under another one that of 1 of 256 is.
// throws: core::Error if it is legal in less than a quarter of those tried; naming the file if
// there is only one. What it lets pass may still be another key, the likelier the fewer files there
// are. Files that cannot be read, or whose size is not one of AES-CBC, are left to their turn.
void require_cbc_key_may_fit(const Request& request, const Tree& tree, int root);

}  // namespace tabane::encrypt
