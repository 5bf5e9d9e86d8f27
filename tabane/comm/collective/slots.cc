#include "tabane/comm/collective/slots.h"

#include "tabane/comm/collective/flag_wait.h"

namespace tabane::comm {

Slots::Slots(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory)
    : memory_(&memory),
      progress_(reinterpret_cast<Progress*>(board + layout.progress)),
      slots_(board + layout.slots),
      slot_bytes_(layout.slot_bytes),
      ranks_(layout.ranks),
      rank_(rank) {}

std::byte* Slots::slot(int rank) const {
  return slots_ + (2 * static_cast<std::size_t>(rank) + (step_ & 1)) * slot_bytes_;
}

void Slots::wait_for(int rank, std::uint64_t count) {
  const std::atomic<std::uint64_t>& seen = progress_[rank].count;
  wait_for_flag(*memory_, rank, [&] { return seen.load(std::memory_order_acquire) >= count; });
}

std::span<std::byte> Slots::begin(int reader) {
  ++step_;
  int& last_reader = reader_[step_ & 1];
  if (last_reader != kNobody) {
    const std::uint64_t done = 2 * (step_ - 2) + 1;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank != rank_ && (last_reader == any_source || last_reader == rank)) wait_for(rank, done);
    }
  }
  last_reader = reader;
  return {slot(rank_), slot_bytes_};
}

void Slots::publish(const Signature& signature) {
  progress_[rank_].signatures[step_ & 1] = signature;
  progress_[rank_].count.store(2 * step_, std::memory_order_release);
  const int reader = reader_[step_ & 1];
  if (reader == any_source) {
    memory_->notify_all();
  } else {
    memory_->notify(reader);
  }
}

std::span<const std::byte> Slots::read(int rank, const Signature& signature) {
  wait_for(rank, 2 * step_);
  const Signature& other = progress_[rank].signatures[step_ & 1];
  if (other != signature) throw_different_calls(rank_, signature, rank, other);
  return {slot(rank), slot_bytes_};
}

void Slots::end() {
  progress_[rank_].count.store(2 * step_ + 1, std::memory_order_release);
  memory_->notify_all();
}

}  // namespace tabane::comm
