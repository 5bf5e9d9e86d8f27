#include "tabane/team/control.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::team {
namespace {

constexpr std::size_t kMany = 1'000'000'000;

TEST(ChunkSize, BeginsWithOneTask) { EXPECT_EQ(ChunkSize(2).now(), 1u); }

TEST(ChunkSize, DoublesUntilAChunkTakesTheTimeAimedAt) {
  ChunkSize chunk(2);
  for (const std::size_t expected : {2u, 4u, 8u, 16u, 32u, 32u, 32u}) {
    chunk.adapt(1000 * chunk.now(), chunk.now(), kMany);  // 1 us a task
    EXPECT_EQ(chunk.now(), expected);
  }
}

TEST(ChunkSize, FallsAtOnceWhenTasksBecomeLonger) {
  ChunkSize chunk(2);
  for (int i = 0; i < 10; ++i) chunk.adapt(1000 * chunk.now(), chunk.now(), kMany);
  chunk.adapt(16'000 * chunk.now(), chunk.now(), kMany);
  EXPECT_EQ(chunk.now(), 2u);
  chunk.adapt(1'000'000'000, chunk.now(), kMany);
  EXPECT_EQ(chunk.now(), 1u);
}

TEST(ChunkSize, TakesAtMostAQuarterOfAWorkersShareOfWhatIsLeft) {
  ChunkSize chunk(4);
  for (int i = 0; i < 40; ++i) chunk.adapt(0, chunk.now(), 1600);
  EXPECT_EQ(chunk.now(), 100u);
  chunk.adapt(0, chunk.now(), 32);
  EXPECT_EQ(chunk.now(), 2u);
  chunk.adapt(0, chunk.now(), 0);
  EXPECT_EQ(chunk.now(), 1u);
}

TEST(ChunkSize, StaysBoundedForTasksThatTakeNoTime) {
  ChunkSize chunk(1);
  for (int i = 0; i < 100; ++i) chunk.adapt(0, chunk.now(), SIZE_MAX / 2);
  EXPECT_EQ(chunk.now(), ChunkSize::kAimNs);
  EXPECT_LE(chunk.now(), ChunkSize::kMost);
}

// Threads in place of processes: what else they share is plain memory, so ThreadSanitizer sees
// whether the control orders it.
constexpr int kThreads = 3, kTeams = 20;

template <class F>
void on_threads(const F& f) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(f, thread);
  for (std::thread& thread : threads) thread.join();
}

TEST(ControlOnThreads, AFailureThatIsSeenIsComplete) {
  for (int team = 0; team < kTeams; ++team) {
    Control control(kThreads, 1);
    on_threads([&](int process) {
      if (process == 0) {
        const std::string name = "call of " + std::to_string(team);
        return control.fail_system(process, name, "operand", team);
      }
      while (process == 1 ? !control.refused() : !control.failed()) std::this_thread::yield();
      for (bool complete = false; !complete;) {
        try {
          control.throw_failure();
        } catch (const core::SystemError& error) {
          complete = true;
          EXPECT_EQ(error.code(), team);
          EXPECT_NE(std::string(error.what()).find("call of " + std::to_string(team)),
                    std::string::npos);
        } catch (const core::Error&) {  // it is still being written
        }
      }
    });
  }
}

TEST(ControlOnThreads, WorkersThatMeetSeeWhatAllHaveDone) {
  for (int team = 1; team <= kTeams; ++team) {
    Control control(1, kThreads);
    std::array<int, kThreads> done{};
    on_threads([&](int thread) {
      done[static_cast<std::size_t>(thread)] = team;
      control.meet_workers();
      EXPECT_EQ(done[0] + done[1] + done[2], 3 * team);
    });
  }
}

TEST(ControlOnThreads, ArrivalAndReleaseOrderWhatBothSidesDo) {
  for (int team = 1; team <= kTeams; ++team) {
    Control control(kThreads - 1, 1);
    std::array<int, kThreads> done{};
    on_threads([&](int process) {
      done[static_cast<std::size_t>(process)] = team;
      if (process < kThreads - 1) {
        control.arrive();
        EXPECT_EQ(done[kThreads - 1], 2 * team);
      } else {
        while (!control.wait_for_arrivals(0.01)) continue;
        done[kThreads - 1] = done[0] + done[1];
        control.release();
      }
    });
  }
}

}  // namespace
}  // namespace tabane::team
