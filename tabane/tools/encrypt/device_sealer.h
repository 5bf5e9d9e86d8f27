// Seals or opens files on a coprocessor: chunks of as many files as fit into a slot go there
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/tools/encrypt/sealed_file.h"

namespace tabane::encrypt {

class DeviceFormat : public SealedFormat {
 public:
  // engine: of the CPU, for what the device does not do. throws: device::DeviceError.
  DeviceFormat(const JobState& job, crypto::Engine engine);

  // Pieces end as soon as their chunks are written, which is later.
  void work(const std::shared_ptr<FileTask>& task, const Range& range) override;
  void finish() override;
  bool works_at_once() const override { return false; }

 private:
  struct Placed {
    std::shared_ptr<SealedTask> task;
    ChunkGroup group;
    std::size_t at;  // of the chunks in the slot
    bool ends;       // the piece
  };

  void add_groups(const std::shared_ptr<SealedTask>& task, std::uint64_t first, std::uint64_t end);
  void place(const std::shared_ptr<SealedTask>& task, const ChunkGroup& group, bool ends);
  bool has_room(const ChunkGroup& group) const;
  void work_on_all();
  void work_on_cpu();
  void check_tags();
  void write(const Placed& placed, std::span<const char> fits);

  crypto::DeviceAes& aes_;
  crypto::DeviceSlot slot_;
  bool slot_works_ = true;  // else it is but a buffer
  const bool opens_;
  crypto::ChunkCipher cipher_;
  std::size_t used_ = 0;  // bytes of the slot
  std::vector<Placed> placed_;
  std::vector<crypto::DeviceFileKey> keys_;
  std::vector<crypto::DeviceChunk> chunks_;
  std::vector<char> fits_;  // of these: whether an opened one is what was sealed
};

}  // namespace tabane::encrypt
