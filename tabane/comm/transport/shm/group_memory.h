// The memory of a group whose ranks are processes of one launch.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tabane/comm/transport/shm/direct_copy.h"
#include "tabane/comm/transport/shm/window.h"
#include "tabane/comm/transport/shm/world.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm::shm {

// What is called while a rank waits, so that its pending messages move, and before it yields or
// sleeps. May throw.
struct WaitHooks {
  std::function<void()> progress = [] {};
  std::function<void()> look = [] {};
};

// One rank's view. The block is given back by the last view that ends; if a rank dies before its
// own does, never (the launch is over then anyway).
class ShmGroupMemory : public GroupMemory {
 public:
  // Called by one rank of the group, which tells the others the offset. bytes: of the group.
  // Returns an offset for all views, or nothing if the world has no memory left.
  static std::optional<std::size_t> allocate(World& world, std::size_t members, std::size_t bytes);

  // A view of rank `self` (of the world). members: world ranks of the group, in its order, self
  // among them; each of them makes one view. offset, bytes: of allocate().
  ShmGroupMemory(World& world, int self, std::span<const int> members, std::size_t offset,
                 std::size_t bytes, WaitHooks hooks = {});
  ~ShmGroupMemory() override;
  ShmGroupMemory(const ShmGroupMemory&) = delete;
  ShmGroupMemory& operator=(const ShmGroupMemory&) = delete;

  std::span<std::byte> bytes() override { return bytes_; }
  void wait(int peer, const std::function<bool()>& ready) override;
  void check(int peer, const std::function<bool()>& ready) override;
  void notify(int rank) override;
  void notify_all() override;
  std::uint64_t open(std::span<std::byte> bytes) override;
  void close(bool all_done) noexcept override;
  CopyResult write(int rank, std::uint64_t key, std::size_t offset,
                   std::span<const std::byte> bytes) override;
  CopyResult read(int rank, std::uint64_t key, std::size_t offset,
                  std::span<std::byte> into) override;

 private:
  struct Head;
  static std::size_t head_bytes(std::size_t members);
  Window& window(std::size_t member) const;
  CopyResult copy_claimed(int rank, std::uint64_t key, std::size_t offset,
                          std::span<std::byte> here, VmCall copy);

  World* world_;
  int self_;
  std::vector<int> members_;
  std::size_t own_;                   // place in members_
  std::vector<Doorbell*> doorbells_;  // of the members
  Waiter waiter_;
  std::span<std::byte> block_, bytes_;
  Head* head_;
  std::uint64_t windows_ = 0;  // opened by this rank so far
  WaitHooks hooks_;
};

}  // namespace tabane::comm::shm
