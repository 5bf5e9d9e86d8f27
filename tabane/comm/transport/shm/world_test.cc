#include "tabane/comm/transport/shm/world.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/comm/transport/shm/spin_test.h"
#include "tabane/core/error.h"
#include "tabane/core/fake_machine_test.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/core/units.h"

namespace tabane::comm::shm {

namespace {

using core::kKiB, core::kMiB;

void expect_consistent(const MemoryPlan& plan) {
  const std::size_t channels = static_cast<std::size_t>(plan.ranks * (plan.ranks - 1));
  EXPECT_EQ(plan.channels_at % kPageBytes, 0u);
  EXPECT_EQ(plan.channel_bytes % kPageBytes, 0u);
  EXPECT_EQ(plan.group_bytes % kPageBytes, 0u);
  EXPECT_GE(plan.channels_at, static_cast<std::size_t>(plan.ranks + 1) * kRecordBytes);
  EXPECT_EQ(plan.groups_at, plan.channels_at + channels * plan.channel_bytes);
  EXPECT_EQ(plan.total_bytes, plan.groups_at + plan.group_bytes);
  EXPECT_GE(plan.group_bytes, static_cast<std::size_t>(plan.ranks) * kPageBytes);
  EXPECT_TRUE(channels == 0 || plan.channel_bytes >= 2 * kPageBytes);
}

TEST(MemoryPlan, TakesAtMostAMebibyteAPairByDefault) {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const MemoryPlan plan = plan_memory(ranks, 0);
    expect_consistent(plan);
    const std::size_t pairs =
        std::max<std::size_t>(1, static_cast<std::size_t>(ranks * (ranks - 1) / 2));
    EXPECT_LE(plan.total_bytes, std::min(pairs * kMiB, 64 * kMiB)) << ranks;
    EXPECT_GE(plan.total_bytes, std::min(pairs * kMiB, 64 * kMiB) * 2 / 8) << ranks;
  }
}

TEST(MemoryPlan, DividesKnownSizes) {
  EXPECT_EQ(plan_memory(1, 0).channel_bytes, 0u);
  EXPECT_EQ(plan_memory(2, 0).channel_bytes, 380 * kKiB);  // (1024 - 256 - 4) / 2, in pages
  EXPECT_EQ(plan_memory(2, 0).group_bytes, 256 * kKiB);
  EXPECT_EQ(plan_memory(3, 0).channel_bytes, 380 * kKiB);
  EXPECT_EQ(plan_memory(64, 0).channel_bytes, 12 * kKiB);  // 48 MiB / 4032
  EXPECT_EQ(plan_memory(512, 0).channel_bytes, 8 * kKiB);
  EXPECT_EQ(plan_memory(2, 64 * kMiB).channel_bytes, 512 * kKiB);
}

TEST(MemoryPlan, GivesMoreRanksTheLeastWithoutTouchingIt) {
  for (const int ranks : {80, 100, 512, 1000}) expect_consistent(plan_memory(ranks, 0));
}

TEST(MemoryPlan, KeepsToWhatIsGivenDownToTheLeast) {
  for (const int ranks : {1, 2, 3, 7, 64, 512}) {
    std::size_t least = 0;
    try {
      plan_memory(ranks, 1);
      FAIL() << ranks;
    } catch (const core::UsageError& error) {
      const std::string text = error.what();
      least = std::stoul(text.substr(text.find("least ") + 6));
    }
    EXPECT_THROW(plan_memory(ranks, least - 1), core::UsageError);
    for (const std::size_t bytes : {least, least + 1, least + 5000, 2 * least + 77, 10 * least}) {
      const MemoryPlan plan = plan_memory(ranks, bytes);
      expect_consistent(plan);
      EXPECT_LE(plan.total_bytes, bytes) << ranks;
    }
  }
}

// A machine on which so many bytes can be used: of the whole, or by the control group.
void describe(core::FakeMachine& machine, std::size_t available, std::size_t limit) {
  machine.file("/proc/meminfo", "MemAvailable: " + std::to_string(available / kKiB) + " kB\n")
      .file("/proc/self/cgroup", "0::/job\n")
      .file("/sys/fs/cgroup/job/memory.max", std::to_string(limit) + "\n")
      .file("/sys/fs/cgroup/job/memory.current", "0\n");
}

TEST(MemoryPlan, RefusesRanksThatMemoryDoesNotHold) {
  constexpr std::size_t kGiB = 1024 * kMiB;
  for (const auto& [available, limit] :
       {std::pair{18 * kGiB, 900 * kGiB}, {900 * kGiB, 18 * kGiB}}) {
    core::FakeMachine machine;
    describe(machine, available, limit);
    const core::SystemFiles files(machine.root());
    int most = 0;
    try {
      require_memory(plan_memory(4096, 0), files);
      FAIL();
    } catch (const core::UsageError& error) {
      const std::string text = error.what();
      for (const char* part : {"4096 ranks", "64.0 GiB", "18 GiB"}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
      }
      most = std::stoi(text.substr(text.find("at most ") + 8));
    }
    EXPECT_GT(most, 1500);
    EXPECT_NO_THROW(require_memory(plan_memory(most, 0), files));
    EXPECT_THROW(require_memory(plan_memory(most + 1, 0), files), core::UsageError);
  }
}

TEST(MemoryPlan, RefusesNothingThatFitsOrIsNotKnown) {
  core::FakeMachine large, small, nothing;
  describe(large, 900ull << 30, 900ull << 30);
  describe(small, 1, 1);
  EXPECT_NO_THROW(require_memory(plan_memory(4096, 0), core::SystemFiles(large.root())));
  EXPECT_NO_THROW(require_memory(plan_memory(4096, 0), core::SystemFiles(nothing.root())));
  EXPECT_NO_THROW(require_memory(plan_memory(16, 0), core::SystemFiles(small.root())));
}

// Those to one rank are looked at together.
TEST(MemoryPlan, LaysChannelsToOneRankSideBySide) {
  World world(plan_memory(5, 0), 2);
  const std::size_t bytes = world.plan().channel_bytes;
  for (int to = 0; to < 5; ++to) {
    const std::byte* next = world.channel(to == 0 ? 1 : 0, to).data();
    for (int from = 0; from < 5; ++from) {
      if (from == to) continue;
      EXPECT_EQ(world.channel(from, to).data(), next);
      next += bytes;
    }
  }
}

// Two see at once that a rank is gone, and a third waits for the news: plain memory, so
// ThreadSanitizer sees whether it is complete. Where the one that writes it is stopped meanwhile,
// it comes later.
TEST(World, TellsOfALossOnceItIsWritten) {
  for (int round = 0; round < 20; ++round) {
    World world(plan_memory(2, 0), 2);
    std::atomic<int> there{0};
    std::vector<std::thread> threads;
    for (const char* const how : {"was killed by one", "was killed by the other"}) {
      threads.emplace_back([&world, &there, how] {
        there.fetch_add(1, std::memory_order_relaxed);
        spin_until([&] { return there.load(std::memory_order_relaxed) == 2; });
        world.fail(1, 4711, how);
      });
    }
    const auto news = [&] {
      return core::text_of_error<core::LostError>([&] { world.throw_failed(); });
    };
    spin_until([&] { return world.failed(); });
    const std::string first = news();
    for (std::thread& thread : threads) thread.join();
    const std::string last = news();
    EXPECT_NE(last.find("4711"), last.npos) << last;
    EXPECT_TRUE(last.ends_with("killed by one") || last.ends_with("killed by the other")) << last;
    EXPECT_TRUE(first == last || first.ends_with("why is not known")) << first;
  }
}

}  // namespace

}  // namespace tabane::comm::shm
