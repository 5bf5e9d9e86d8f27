#include "tabane/comm/transport/shm/group_memory.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "tabane/comm/transport/shm/forked_ranks_test.h"
#include "tabane/core/error.h"

namespace tabane::comm::shm {
namespace {

struct Counters {
  std::atomic<int> arrived{0}, epoch{0};
};

bool meet(ShmGroupMemory& memory, int members, int rounds) {
  auto& counters = *reinterpret_cast<Counters*>(memory.bytes().data());
  for (int round = 1; round <= rounds; ++round) {
    if (counters.arrived.fetch_add(1) + 1 == round * members) {
      counters.epoch = round;
      memory.notify_all();
    }
    memory.wait(any_source, [&] { return counters.epoch >= round; });
  }
  return counters.arrived >= rounds * members;
}

TEST(ShmGroupMemory, LetsTheRanksOfGroupsMeet) {
  World world(plan_memory(5, 0), 2);
  const std::vector<int> odd = {3, 1}, even = {4, 0, 2};
  const std::size_t odd_at = *ShmGroupMemory::allocate(world, 5000);
  const std::size_t even_at = *ShmGroupMemory::allocate(world, 1);
  run_ranks(world, [&](int rank) {
    const bool is_odd = rank % 2 == 1;
    ShmGroupMemory memory(world, rank, is_odd ? odd : even, is_odd ? odd_at : even_at,
                          is_odd ? 5000 : sizeof(Counters));
    return meet(memory, is_odd ? 2 : 3, 2000);
  });
  // The last views have given all back.
  EXPECT_FALSE(world.allocate(world.plan().group_bytes).empty());
}

TEST(ShmGroupMemory, StartsAtAPageAndIsZero) {
  World world(plan_memory(1, 0), 1);
  const int self[] = {0};
  for (int round = 0; round < 2; ++round) {
    const std::size_t at = *ShmGroupMemory::allocate(world, 4097);
    ShmGroupMemory memory(world, 0, self, at, 4097);
    EXPECT_EQ(memory.bytes().size(), 4097u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % kPageBytes, 0u);
    for (std::byte& byte : memory.bytes()) {
      EXPECT_EQ(byte, std::byte{});
      byte = std::byte{1};
    }
  }
  EXPECT_EQ(ShmGroupMemory::allocate(world, 1 << 30), std::nullopt);
}

TEST(ShmGroupMemory, MakesProgressWhileItWaits) {
  World world(plan_memory(1, 0), 1);
  const int self[] = {0};
  int steps = 0;
  ShmGroupMemory memory(world, 0, self, *ShmGroupMemory::allocate(world, 1), 1, [&] { ++steps; });
  memory.wait(0, [&] { return steps == 10; });
  EXPECT_EQ(steps, 10);
}

// The peer is named by its rank in the world, not in the group.
TEST(ShmGroupMemory, EndsTheWaitForAPeerThatHasReturned) {
  World world(plan_memory(3, 0), 2);
  const std::vector<int> members = {2, 1};
  const std::size_t at = *ShmGroupMemory::allocate(world, 64);
  run_ranks(world, [&](int rank) {
    if (rank != 1) return true;
    ShmGroupMemory memory(world, 1, members, at, 64);
    for (const int peer : {0, any_source}) {
      try {
        memory.wait(peer, [] { return false; });
        return false;
      } catch (const core::LostError& error) {
        if (peer == 0 && error.rank() != 2) return false;
      }
    }
    return true;
  });
}

}  // namespace
}  // namespace tabane::comm::shm
