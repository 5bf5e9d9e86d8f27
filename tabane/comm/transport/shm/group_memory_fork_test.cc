#include "tabane/comm/transport/shm/group_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  const std::size_t odd_at = *ShmGroupMemory::allocate(world, 2, 5000);
  const std::size_t even_at = *ShmGroupMemory::allocate(world, 3, 1);
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
    const std::size_t at = *ShmGroupMemory::allocate(world, 1, 4097);
    ShmGroupMemory memory(world, 0, self, at, 4097);
    EXPECT_EQ(memory.bytes().size(), 4097u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % kPageBytes, 0u);
    for (std::byte& byte : memory.bytes()) {
      EXPECT_EQ(byte, std::byte{});
      byte = std::byte{1};
    }
  }
  EXPECT_EQ(ShmGroupMemory::allocate(world, 1, 1 << 30), std::nullopt);
}

TEST(ShmGroupMemory, MakesProgressWhileItWaits) {
  World world(plan_memory(1, 0), 1);
  const int self[] = {0};
  int steps = 0;
  ShmGroupMemory memory(world, 0, self, *ShmGroupMemory::allocate(world, 1, 1), 1,
                        {.progress = [&] { ++steps; }});
  memory.wait(0, [&] { return steps == 10; });
  EXPECT_EQ(steps, 10);
}

// Two ranks that take turns: one has a window, the other writes into it.
class TwoRanks {
 public:
  explicit TwoRanks(std::size_t bytes) : bytes_(bytes) {}
  // owner, writer: what they do, in steps; each says whether all is well.
  template <class Owner, class Writer>
  void run(Owner owner, Writer writer) {
    run_ranks(world_, [&](int rank) {
      ShmGroupMemory memory(world_, rank, kMembers, at_, sizeof(News));
      News& news = *reinterpret_cast<News*>(memory.bytes().data());
      Turn turn{memory, news};
      std::vector<std::byte> bytes(bytes_);
      return rank == 1 ? owner(memory, turn, bytes) : writer(memory, turn, bytes);
    });
  }

 private:
  struct News {
    std::atomic<std::uint64_t> key;
    std::atomic<int> step;
  };
  struct Turn {
    ShmGroupMemory& memory;
    News& news;
    void end(int step) {
      news.step = step;
      memory.notify_all();
    }
    void wait_for(int step) {
      memory.wait(any_source, [&] { return news.step >= step; });
    }
  };
  static constexpr int kMembers[] = {1, 0};
  std::size_t bytes_;
  World world_{plan_memory(2, 0), 2};
  std::size_t at_ = *ShmGroupMemory::allocate(world_, 2, sizeof(News));
};

bool are_all(std::span<const std::byte> bytes, int value) {
  return std::ranges::count(bytes, static_cast<std::byte>(value)) == std::ssize(bytes);
}

TEST(ShmGroupMemory, LetsOthersWriteIntoAnOpenWindowAndNowhereElse) {
  constexpr std::size_t kPart = 10'000;
  TwoRanks(3 * kPart).run(
      [](ShmGroupMemory& memory, auto& turn, std::vector<std::byte>& bytes) {
        const auto middle = std::span(bytes).subspan(kPart, kPart);
        turn.news.key = memory.open(middle);
        turn.end(1);
        turn.wait_for(2);
        const bool written = are_all(middle, 1);
        memory.close(false);
        std::ranges::fill(bytes, std::byte{});
        turn.end(3);
        turn.wait_for(4);
        turn.news.key = memory.open(middle);
        turn.end(5);
        turn.wait_for(6);
        memory.close(false);
        return written && are_all(bytes, 0);
      },
      [](ShmGroupMemory& memory, auto& turn, std::vector<std::byte>& bytes) {
        std::ranges::fill(bytes, std::byte{1});
        const auto part = std::span(bytes).first(kPart);
        turn.wait_for(1);
        const std::uint64_t key = turn.news.key;
        bool good = memory.write(0, key, 0, part) == CopyResult::done;
        good &= memory.write(0, key, 1, part) == CopyResult::closed;
        good &= memory.write(0, key, kPart + 1, {}) == CopyResult::closed;
        good &= memory.write(0, key, 0, std::span(bytes).first(kPart + 1)) == CopyResult::closed;
        turn.end(2);
        turn.wait_for(3);
        good &= memory.write(0, key, 0, part) == CopyResult::closed;
        turn.end(4);
        turn.wait_for(5);
        good &= turn.news.key != key && memory.write(0, key, 0, part) == CopyResult::closed;
        turn.end(6);
        return good;
      });
}

TEST(ShmGroupMemory, LetsOthersReadAnOpenWindowAndNothingElse) {
  constexpr std::size_t kPart = 10'000;
  TwoRanks(3 * kPart).run(
      [](ShmGroupMemory& memory, auto& turn, std::vector<std::byte>& bytes) {
        const auto middle = std::span(bytes).subspan(kPart, kPart);
        std::ranges::fill(middle, std::byte{1});
        turn.news.key = memory.open(middle);
        turn.end(1);
        turn.wait_for(2);
        memory.close(false);
        std::ranges::fill(bytes, std::byte{2});
        turn.end(3);
        turn.wait_for(4);
        return true;
      },
      [](ShmGroupMemory& memory, auto& turn, std::vector<std::byte>& bytes) {
        const auto part = std::span(bytes).first(kPart);
        turn.wait_for(1);
        const std::uint64_t key = turn.news.key;
        bool good = memory.read(0, key, 0, part) == CopyResult::done && are_all(part, 1);
        good &= memory.read(0, key, 1, part) == CopyResult::closed;
        good &= memory.read(0, key, 0, std::span(bytes).first(kPart + 1)) == CopyResult::closed;
        turn.end(2);
        turn.wait_for(3);
        good &= memory.read(0, key, 0, part) == CopyResult::closed && are_all(part, 1);
        turn.end(4);
        return good;
      });
}

// Of memory that is just being written: ThreadSanitizer is to overlook that.
[[gnu::no_sanitize_thread]] bool is_zero(const volatile std::byte& byte) {
  return byte == std::byte{};
}

TEST(ShmGroupMemory, ClosesAWindowOnlyWhenNobodyWritesItAnyMore) {
  TwoRanks(64 << 20).run(
      [](ShmGroupMemory& memory, auto& turn, std::vector<std::byte>& bytes) {
        turn.news.key = memory.open(bytes);
        turn.end(1);
        while (is_zero(bytes.front())) continue;
        memory.close(false);
        std::ranges::fill(bytes, std::byte{2});
        turn.wait_for(2);
        return are_all(bytes, 2);
      },
      [](ShmGroupMemory& memory, auto& turn, std::vector<std::byte>& bytes) {
        std::ranges::fill(bytes, std::byte{1});
        turn.wait_for(1);
        memory.write(0, turn.news.key, 0, bytes);
        turn.end(2);
        return true;
      });
}

// The peer is named by its rank in the world, not in the group.
TEST(ShmGroupMemory, EndsTheWaitForAPeerThatHasReturned) {
  World world(plan_memory(3, 0), 2);
  const std::vector<int> members = {2, 1};
  const std::size_t at = *ShmGroupMemory::allocate(world, 2, 64);
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
