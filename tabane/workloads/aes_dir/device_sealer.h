// Seals files on a coprocessor: chunks of as many files as fit into a slot go there together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tabane/workloads/aes_dir/chunk_cipher.h"
#include "tabane/workloads/aes_dir/device_aes.h"
#include "tabane/workloads/aes_dir/sealed_file.h"

namespace tabane::workloads::aes_dir {

// One thread's.
class DeviceSealer {
 public:
  // engine: of the CPU, for what the device does not do. throws: device::DeviceError.
  DeviceSealer(DeviceAes& aes, Engine engine);

  // Takes a piece that was started: the chunks [first, first + count) of its file, or to its end.
  // Ends it as soon as they are written, which is later.
  void add(std::shared_ptr<SealedTask> task, std::uint64_t first, std::uint64_t count);
  // Writes what was taken.
  void finish();

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
  void seal();
  void seal_on_cpu();

  DeviceAes& aes_;
  DeviceSlot slot_;
  bool slot_works_ = true;  // else it is but a buffer
  ChunkCipher cipher_;
  std::size_t used_ = 0;  // bytes of the slot
  std::vector<Placed> placed_;
  std::vector<DeviceFileKey> keys_;
  std::vector<DeviceChunk> chunks_;
};

}  // namespace tabane::workloads::aes_dir
