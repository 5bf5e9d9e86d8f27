// The formats of jobs: sealed files on a coprocessor, where the chunks of as many files as fit into
// a slot go together; and which format a job has.
#include <openssl/crypto.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/tools/encrypt/cbc_file.h"
#include "tabane/tools/encrypt/sealed_file.h"

namespace tabane::encrypt {
namespace {

// Holds the largest chunk that a format may have, and as many usual ones as keep a device at work.
constexpr std::size_t kSlotBytes = std::size_t{32} << 20;

std::size_t round_up(std::size_t n) { return (n + 63) / 64 * 64; }

std::size_t place_after(std::size_t used, const ChunkGroup& group) {
  return round_up(used + (group.first == 0 ? group.header : 0));
}

class DeviceFormat : public SealedFormat {
 public:
  // throws: device::DeviceError.
  explicit DeviceFormat(const JobState& job)
      : SealedFormat(job), aes_(*job.device), slot_(aes_, kSlotBytes) {}

  // Pieces end as soon as their chunks are written, which is later.
  void work(const std::shared_ptr<FileTask>& task, const Range& range) override {
    auto sealed = std::static_pointer_cast<SealedTask>(task);
    const std::uint64_t end = std::min(sealed->chunks(), range.first + range.count);
    try {
      if (range.first < end) return add_groups(sealed, range.first, end);
    } catch (const std::exception& error) {
      task->fail(error);
    }
    task->end_piece();
  }

  void finish() override {
    if (placed_.empty()) return;
    work_on_all();
    std::span<const char> fits = fits_;
    for (const Placed& placed : placed_) {
      SealedTask& task = *placed.task;
      try {
        if (!task.failed()) write(placed, fits.first(placed.group.count));
      } catch (const std::exception& error) {
        task.fail(error);
      }
      fits = fits.subspan(placed.group.count);
      if (placed.ends) task.end_piece();
    }
    placed_.clear();
    keys_.clear();
    chunks_.clear();
    used_ = 0;
  }

  bool works_at_once() const override { return false; }

 private:
  struct Placed {
    std::shared_ptr<SealedTask> task;
    ChunkGroup group;
    std::size_t at;  // of the chunks in the slot
    bool ends;       // the piece
  };

  bool has_room(const ChunkGroup& group) const {
    return placed_.size() < aes_.chains_per_slot() &&
           place_after(used_, group) + group.sealed_size() <= slot_.bytes();
  }

  // Groups are small, so that little of a slot stays empty.
  void add_groups(const std::shared_ptr<SealedTask>& task, std::uint64_t first, std::uint64_t end) {
    constexpr std::size_t kGroupBytes = std::size_t{1} << 20;
    const std::size_t most =
        std::clamp<std::size_t>(kGroupBytes / task->chunk_bytes(), 1, ChunkGroup::kMost);
    for (std::uint64_t at = first; at < end; at += most) {
      if (task->job().stop || task->failed()) throw Stopped();
      const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(most, end - at));
      place(task, task->group(at, here), at + here == end);
    }
  }

  void place(const std::shared_ptr<SealedTask>& task, const ChunkGroup& group, bool ends) {
    if (!has_room(group)) finish();
    const std::size_t at = place_after(used_, group);
    std::byte* const chunks = slot_.in().data() + at;
    seals_ ? task->read_plain(group, chunks) : task->read_sealed(group, chunks);
    if (placed_.empty() || placed_.back().task != task) {
      keys_.emplace_back(task->keys().key.bytes(), aes_.variant().items);
    }
    for (std::size_t i = 0; i < group.count; ++i) {
      chunks_.push_back(
          {.place = static_cast<std::uint32_t>((at + i * group.stride()) / crypto::kBlockBytes),
           .bytes = static_cast<std::uint32_t>(group.plain_of(i)),
           .key = static_cast<std::uint32_t>(keys_.size() - 1),
           .index = static_cast<std::uint32_t>(group.first + i),
           .last = group.is_last(i),
           .opens = !seals_});
    }
    placed_.push_back({task, group, at, ends});
    used_ = at + group.sealed_size();
  }

  // What the device has not done is still there as it was read.
  void work_on_all() {
    fits_.assign(chunks_.size(), true);
    if (!slot_.attempt([&] { slot_.work(keys_, chunks_, used_); })) return work_on_cpu();
    if (!seals_) check_tags();
  }

  void check_tags() {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const std::size_t at = chunks_[i].place * crypto::kBlockBytes + chunks_[i].bytes;
      fits_[i] = CRYPTO_memcmp(&slot_.in()[at], &slot_.out()[at], crypto::kTagBytes) == 0;
    }
  }

  void work_on_cpu() {
    auto fits = fits_.begin();
    for (const Placed& placed : placed_) {
      cipher_.set_key(placed.task->keys().key.bytes());
      for (std::size_t i = 0; i < placed.group.count; ++i, ++fits) {
        *fits = work_on_chunk(placed.group, i, &slot_.in()[placed.at], &slot_.out()[placed.at]);
      }
    }
  }

  void write(const Placed& placed, std::span<const char> fits) {
    std::byte* const chunks = slot_.out().data() + placed.at;
    if (seals_) return placed.task->write_sealed(placed.group, chunks);
    const auto damaged = std::ranges::find(fits, false);
    if (damaged != fits.end()) {
      throw placed.group.damage_of(static_cast<std::size_t>(damaged - fits.begin()));
    }
    placed.task->write_opened(placed.group, chunks);
  }

  crypto::DeviceAes& aes_;
  crypto::DeviceSlot slot_;
  std::size_t used_ = 0;  // bytes of the slot
  std::vector<Placed> placed_;
  std::vector<crypto::DeviceFileKey> keys_;
  std::vector<crypto::DeviceChunk> chunks_;
  std::vector<char> fits_;  // of these: whether an opened one is what was sealed
};

}  // namespace

std::shared_ptr<FileTask> make_task(JobState& job, std::uint32_t file, std::uint32_t pieces) {
  if (job.request.is_sealed()) return std::make_shared<SealedTask>(job, file, pieces);
  return std::make_shared<CbcTask>(job, file, pieces);
}

std::unique_ptr<Format> make_format(JobState& job, std::function<Upcoming()> upcoming) {
  if (!job.request.is_sealed()) return std::make_unique<CbcFormat>(job, std::move(upcoming));
  if (job.device != nullptr) {
    try {
      return std::make_unique<DeviceFormat>(job);
    } catch (const device::DeviceError& error) {  // it has no room for this thread
      job.device->note_failure(error);
    }
  }
  return std::make_unique<SealedFormat>(job);
}

}  // namespace tabane::encrypt
