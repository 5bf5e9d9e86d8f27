#include "tabane/comm/transport/shm/group_memory.h"

#include <sys/uio.h>

#include <atomic>
#include <cerrno>
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
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (peer != any_source && rank != static_cast<std::size_t>(peer)) continue;
      if (members_[rank] != self_) world_->check(self_, members_[rank], ready);
    }
  };
  waiter_.wait(polls, check);
}

void ShmGroupMemory::notify(int rank) { wake(*doorbells_[static_cast<std::size_t>(rank)]); }

bool ShmGroupMemory::write(int rank, std::byte* there, std::span<const std::byte> bytes) {
  const pid_t pid = world_->pid(members_[static_cast<std::size_t>(rank)]);
  while (!bytes.empty()) {
    const iovec from{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const iovec to{there, bytes.size()};
    const ssize_t copied = process_vm_writev(pid, &from, 1, &to, 1, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(copied));
    there += copied;
  }
  return true;
}

void ShmGroupMemory::notify_all() {
  for (Doorbell* const doorbell : doorbells_) wake(*doorbell);
}

}  // namespace tabane::comm::shm
