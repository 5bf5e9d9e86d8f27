#include "tabane/tools/encrypt/device_sealer.h"

#include <openssl/crypto.h>

#include <algorithm>

namespace tabane::encrypt {
namespace {

// Holds the largest chunk that a format may have, and as many usual ones as keep a device at work.
constexpr std::size_t kSlotBytes = std::size_t{32} << 20;

std::size_t round_up(std::size_t n) { return (n + 63) / 64 * 64; }

std::size_t place_after(std::size_t used, const ChunkGroup& group) {
  return round_up(used + (group.first == 0 ? group.header : 0));
}

}  // namespace

DeviceFormat::DeviceFormat(const JobState& job, crypto::Engine engine)
    : SealedFormat(job, engine),
      aes_(*job.device),
      slot_(aes_, kSlotBytes),
      opens_(!job.request.encrypts()),
      cipher_(engine) {}

bool DeviceFormat::has_room(const ChunkGroup& group) const {
  return placed_.size() < aes_.chains_per_slot() &&
         place_after(used_, group) + group.sealed_size() <= slot_.bytes();
}

void DeviceFormat::work(const std::shared_ptr<FileTask>& task, const Range& range) {
  auto sealed = std::static_pointer_cast<SealedTask>(task);
  const std::uint64_t end = std::min(sealed->chunks(), range.first + range.count);
  try {
    if (range.first < end) return add_groups(sealed, range.first, end);
  } catch (const std::exception& error) {
    task->fail(error);
  }
  task->end_piece();
}

// Groups are small, so that little of a slot stays empty.
void DeviceFormat::add_groups(const std::shared_ptr<SealedTask>& task, std::uint64_t first,
                              std::uint64_t end) {
  constexpr std::size_t kGroupBytes = std::size_t{1} << 20;
  const std::size_t most =
      std::clamp<std::size_t>(kGroupBytes / task->chunk_bytes(), 1, ChunkGroup::kMost);
  for (std::uint64_t at = first; at < end; at += most) {
    if (task->job().stop || task->failed()) throw Stopped();
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(most, end - at));
    place(task, task->group(at, here), at + here == end);
  }
}

void DeviceFormat::place(const std::shared_ptr<SealedTask>& task, const ChunkGroup& group,
                         bool ends) {
  if (!has_room(group)) finish();
  const std::size_t at = place_after(used_, group);
  std::byte* const chunks = slot_.in().data() + at;
  opens_ ? task->read_sealed(group, chunks) : task->read_plain(group, chunks);
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
         .opens = opens_});
  }
  placed_.push_back({task, group, at, ends});
  used_ = at + group.sealed_size();
}

// What the device has not done is still there as it was read.
void DeviceFormat::work_on_all() {
  fits_.assign(chunks_.size(), true);
  if (slot_works_) {
    try {
      slot_.work(keys_, chunks_, used_);
      if (opens_) check_tags();
      return;
    } catch (const device::DeviceError& error) {
      aes_.note_failure(error);
      slot_works_ = false;
    }
  }
  work_on_cpu();
}

void DeviceFormat::check_tags() {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const std::size_t at = chunks_[i].place * crypto::kBlockBytes + chunks_[i].bytes;
    fits_[i] = CRYPTO_memcmp(&slot_.in()[at], &slot_.out()[at], crypto::kTagBytes) == 0;
  }
}

void DeviceFormat::work_on_cpu() {
  auto fits = fits_.begin();
  for (const Placed& placed : placed_) {
    const ChunkGroup& group = placed.group;
    cipher_.set_key(placed.task->keys().key.bytes());
    for (std::size_t i = 0; i < group.count; ++i, ++fits) {
      const std::size_t at = placed.at + i * group.stride(), bytes = group.plain_of(i);
      const auto index = static_cast<std::uint32_t>(group.first + i);
      const auto in = slot_.in().subspan(at), out = slot_.out().subspan(at);
      if (opens_) {
        *fits = cipher_.open(index, group.is_last(i), in.first(bytes + crypto::kTagBytes),
                             out.first(bytes));
      } else {
        cipher_.seal(index, group.is_last(i), in.first(bytes),
                     out.first(bytes + crypto::kTagBytes));
      }
    }
  }
}

void DeviceFormat::write(const Placed& placed, std::span<const char> fits) {
  std::byte* const chunks = slot_.out().data() + placed.at;
  if (!opens_) return placed.task->write_sealed(placed.group, chunks);
  const auto damaged = std::ranges::find(fits, false);
  if (damaged != fits.end()) {
    throw placed.group.damage_of(static_cast<std::size_t>(damaged - fits.begin()));
  }
  placed.task->write_opened(placed.group, chunks);
}

void DeviceFormat::finish() {
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

}  // namespace tabane::encrypt
