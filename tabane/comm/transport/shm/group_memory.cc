#include "tabane/comm/transport/shm/group_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace tabane::comm::shm {

// All zero at first, as the block is.
struct alignas(64) ShmGroupMemory::Head {
  std::atomic<std::uint32_t> ended_views;
};

std::size_t ShmGroupMemory::head_bytes(std::size_t members) {
  const std::size_t bytes = sizeof(Head) + members * sizeof(Window);
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::optional<std::size_t> ShmGroupMemory::allocate(World& world, std::size_t members,
                                                    std::size_t bytes) {
  const std::span<std::byte> block = world.allocate(head_bytes(members) + bytes);
  if (block.empty()) return {};
  return world.offset_of(block);
}

ShmGroupMemory::ShmGroupMemory(World& world, int self, std::span<const int> members,
                               std::size_t offset, std::size_t bytes, WaitHooks hooks)
    : world_(&world),
      self_(self),
      members_(members.begin(), members.end()),
      own_(static_cast<std::size_t>(std::ranges::find(members_, self) - members_.begin())),
      waiter_(world.waiter(self)),
      block_(world.block_at(offset, head_bytes(members.size()) + bytes)),
      bytes_(block_.subspan(head_bytes(members.size()))),
      head_(reinterpret_cast<Head*>(block_.data())),
      hooks_(std::move(hooks)) {
  for (const int member : members) doorbells_.push_back(&world.doorbell(member));
}

ShmGroupMemory::~ShmGroupMemory() {
  if (head_->ended_views.fetch_add(1) + 1 == members_.size()) world_->release(block_);
}

void ShmGroupMemory::wait(int peer, const std::function<bool()>& ready) {
  const auto polls = [&] {
    if (ready()) return true;
    hooks_.progress();
    return false;
  };
  waiter_.wait(polls, [&] {
    check(peer, ready);
    hooks_.look();
  });
}

void ShmGroupMemory::check(int peer, const std::function<bool()>& ready) {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (peer != any_source && rank != static_cast<std::size_t>(peer)) continue;
    if (members_[rank] != self_) world_->check(self_, members_[rank], ready);
  }
}

void ShmGroupMemory::notify(int rank) { wake(*doorbells_[static_cast<std::size_t>(rank)]); }

Window& ShmGroupMemory::window(std::size_t member) const {
  return reinterpret_cast<Window*>(block_.data() + sizeof(Head))[member];
}

std::uint64_t ShmGroupMemory::open(std::span<std::byte> bytes) {
  const std::uint64_t key = ++windows_ * members_.size() + own_;
  window(own_).show(key, bytes);
  return key;
}

void ShmGroupMemory::close(bool all_done) noexcept {
  const std::uint64_t key = window(own_).close();
  if (all_done) return;  // to look at the others' lines costs a line's way each
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    while (key != 0 && window(rank).is_using(key) && world_->may_be_in_a_call(members_[rank])) {
      usleep(100);
    }
  }
}

CopyResult ShmGroupMemory::write(int rank, std::uint64_t key, std::size_t offset,
                                 std::span<const std::byte> bytes) {
  return copy_claimed(rank, key, offset, {const_cast<std::byte*>(bytes.data()), bytes.size()},
                      process_vm_writev);
}

CopyResult ShmGroupMemory::read(int rank, std::uint64_t key, std::size_t offset,
                                std::span<std::byte> into) {
  return copy_claimed(rank, key, offset, into, process_vm_readv);
}

CopyResult ShmGroupMemory::copy_claimed(int rank, std::uint64_t key, std::size_t offset,
                                        std::span<std::byte> here, VmCall copy) {
  const Window& theirs = window(static_cast<std::size_t>(rank));
  Window& own = window(own_);
  CopyResult written = CopyResult::closed;
  if (own.begin_use(theirs, key) && offset <= theirs.bytes &&
      here.size() <= theirs.bytes - offset) {
    const pid_t pid = world_->pid(members_[static_cast<std::size_t>(rank)]);
    const int error = copy_all(copy, pid, here.data(), theirs.begin + offset, here.size());
    written = error == 0 ? CopyResult::done : CopyResult::refused;
  }
  own.end_use();
  return written;
}

void ShmGroupMemory::notify_all() {
  fence_before_look(*doorbells_[own_]);  // one for all
  for (Doorbell* const doorbell : doorbells_) wake_after_fence(*doorbell);
}

}  // namespace tabane::comm::shm
