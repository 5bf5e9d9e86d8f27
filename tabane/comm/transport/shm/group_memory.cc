#include "tabane/comm/transport/shm/group_memory.h"

#include <atomic>
#include <utility>

namespace tabane::comm::shm {

struct ShmGroupMemory::Head {
  std::atomic<std::uint32_t> ended_views;  // 0 at first: the block is zero
};

std::optional<std::size_t> ShmGroupMemory::allocate(World& world, std::size_t bytes) {
  const std::span<std::byte> block = world.allocate(kHeadBytes + bytes);
  if (block.empty()) return {};
  return world.offset_of(block);
}

ShmGroupMemory::ShmGroupMemory(World& world, int self, std::span<const int> members,
                               std::size_t offset, std::size_t bytes,
                               std::function<void()> progress)
    : world_(&world),
      self_(self),
      members_(members.begin(), members.end()),
      waiter_(world.waiter(self)),
      block_(world.block_at(offset, kHeadBytes + bytes)),
      bytes_(block_.subspan(kHeadBytes)),
      head_(reinterpret_cast<Head*>(block_.data())),
      progress_(std::move(progress)) {
  for (const int member : members) doorbells_.push_back(&world.doorbell(member));
}

ShmGroupMemory::~ShmGroupMemory() {
  if (head_->ended_views.fetch_add(1) + 1 == members_.size()) world_->release(block_);
}

void ShmGroupMemory::wait(int peer, const std::function<bool()>& ready) {
  const auto polls = [&] {
    if (ready()) return true;
    progress_();
    return false;
  };
  const auto check = [&] {
    if (peer == any_source) {
      world_->check(self_, members_, ready);
    } else {
      world_->check(self_, members_[static_cast<std::size_t>(peer)], ready);
    }
  };
  waiter_.wait(polls, check);
}

void ShmGroupMemory::notify(int rank) { wake(*doorbells_[static_cast<std::size_t>(rank)]); }

void ShmGroupMemory::notify_all() {
  for (Doorbell* const doorbell : doorbells_) wake(*doorbell);
}

}  // namespace tabane::comm::shm
