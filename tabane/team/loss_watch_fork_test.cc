// Losses where few files may be open, or somebody else waits for the processes first.
#include "tabane/team/loss_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>

#include "tabane/core/error.h"
#include "tabane/team/leftovers_test.h"
#include "tabane/team/team.h"

namespace tabane::team {
namespace {

class TeamLossWatch : public LeavesNothing {};

// What the body returns in a process of its own that may have so many files open.
int with_files(rlim_t most, const std::function<int()>& body) {
  return wait_for_child(fork_child([&] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = most;
    setrlimit(RLIMIT_NOFILE, &limit);
    return body();
  }));
}

void hear_nothing(void*, const Loss&) {}

void run(int processes, bool listens, const std::function<void(const Worker&)>& body) {
  const Job job{.once_per_worker = true, .do_tasks = [&](Progress& at, std::size_t i, std::size_t) {
                  if (at.begins(i)) body(at.worker);
                }};
  JobOptions options{.processes = processes, .forked = true};
  if (listens) options.loss_listener = LossListener{hear_nothing, nullptr, 0.05};
  run_job(job, options);
}

// 0: a loss of this process by SIGTERM was told, with its signal.
int tells_of(int lost, int processes, bool listens) {
  SharedValues<int> there(1);
  try {
    run(processes, listens, [&](const Worker& worker) {
      ++there[0];
      while (there[0].load() < processes) usleep(500);
      if (worker.process == lost) raise(SIGTERM);
      for (;;) pause();
    });
    return 1;
  } catch (const core::LostError& error) {
    if (error.rank() != lost) return 2;
    return std::string(error.what()).find("killed by signal 15") != std::string::npos ? 0 : 3;
  }
}

TEST_F(TeamLossWatch, SeesTheEndOfMoreProcessesThanFilesMayBeOpen) {
  EXPECT_EQ(with_files(64,
                       [] {
                         Team team({.processes = 100, .threads = 1});
                         const auto one = [](std::size_t) { return 1; };
                         return team.map<int>(100, one) == std::vector<int>(100, 1) ? 0 : 1;
                       }),
            0);
  EXPECT_EQ(with_files(64,
                       [] {
                         run(100, true, [](const Worker&) {});
                         return 0;
                       }),
            0);
}

TEST_F(TeamLossWatch, SeesTheLossOfOneOfMoreProcessesThanFilesMayBeOpen) {
  for (const bool listens : {false, true}) {
    for (const int lost : {0, 50, 99}) {
      EXPECT_EQ(with_files(64, [&] { return tells_of(lost, 100, listens); }), 0)
          << lost << (listens ? ", with a listener" : "");
    }
  }
}

TEST_F(TeamLossWatch, TellsTheReasonHoweverFewFilesMayBeOpen) {
  constexpr int kProcesses = 12;
  for (const bool listens : {false, true}) {
    for (int lost = 0; lost < kProcesses; ++lost) {
      EXPECT_EQ(with_files(14, [&] { return tells_of(lost, kProcesses, listens); }), 0)
          << lost << (listens ? ", with a listener" : "");
    }
  }
}

TEST_F(TeamLossWatch, SeesAnyLossWhileMemoryIsMeasured) {
  constexpr int kProcesses = 7;
  for (int lost = 0; lost < kProcesses; ++lost) {
    Team team({.processes = kProcesses, .threads = 1, .measure_memory = true});
    try {
      team.run([&](const Worker& worker) {
        if (worker.process == lost) raise(SIGKILL);
      });
      FAIL() << "nobody was lost";
    } catch (const core::LostError& error) {
      EXPECT_EQ(error.rank(), lost);
    }
  }
}

}  // namespace
}  // namespace tabane::team
