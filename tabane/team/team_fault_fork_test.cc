// What may go wrong: each is told clearly, and the caller goes on with nothing left behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tabane/team/faulty_team_test.h"
#include "tabane/team/fork.h"
#include "tabane/team/leftovers_test.h"
#include "tabane/team/team.h"

namespace tabane::team {
namespace {

TEST_F(FaultyTeam, TellsTheTaskAndTheMessageOfAnException) {
  Team team({.processes = 2, .threads = 2});
  expect_to_tell_the_task_that_throws(team);
  EXPECT_THROW(team.map<std::string>(9, [](std::size_t) -> std::string { throw 5; }), TaskError);
  EXPECT_THROW(team.run([] { throw 5; }), TaskError);
}

TEST_F(FaultyTeam, CutsMessagesThatAreTooLong) {
  Team team({.processes = 2, .threads = 1});
  try {
    team.run([] { throw std::runtime_error(std::string(100'000, 'm')); });
    FAIL() << "nothing was thrown";
  } catch (const TaskError& error) {
    EXPECT_TRUE(holds(error, std::string(1000, 'm')));
    EXPECT_LT(std::string(error.what()).size(), 2000u);
  }
}

TEST_F(FaultyTeam, LetsTheOthersFinishTheirTaskAfterAnException) {
  SharedValues<int> seen(2);
  Team team({.processes = 2, .threads = 1});
  EXPECT_THROW(team.run([&](const Worker& worker) {
    if (worker.process == 1) {
      while (seen[0].load() == 0) usleep(100);
      throw std::runtime_error("now");
    }
    seen[0] = 1;
    usleep(20'000);
    seen[1] = 1;
  }),
               TaskError);
  EXPECT_EQ(seen[1].load(), 1);
}

TEST_F(FaultyTeam, NamesProcessTaskAndSignalOfALostProcess) {
  const std::pair<int, std::string> endings[] = {
      {SIGKILL, "killed by signal 9 (Killed)"},
      {SIGSEGV, "killed by signal 11 (Segmentation fault)"},
      {SIGABRT, "killed by signal 6 (Aborted)"},
      {SIGINT, "killed by signal 2 (Interrupt)"}};
  for (const auto& [number, words] : endings) {
    SharedValues<pid_t> pid(1);
    Team team({.processes = 4, .threads = 1});
    try {
      team.map<int>(100, [&, number = number](std::size_t i) -> int {
        if (i != 17) return 0;
        pid[0] = getpid();
        die_by(number);
      });
      FAIL() << "nobody was lost";
    } catch (const core::LostError& error) {
      EXPECT_EQ(error.pid(), pid[0].load());
      EXPECT_GE(error.rank(), 0);
      EXPECT_LT(error.rank(), 4);
      EXPECT_TRUE(holds(error, words)) << error.what();
      EXPECT_TRUE(holds(error, "task 17:")) << error.what();
    }
  }
}

TEST_F(FaultyTeam, NamesTheStatusOfAProcessThatATaskEnds) {
  for (const int threads : {1, 3}) {
    for (const int status : {0, 3}) {
      Team team({.processes = 2, .threads = threads});
      for (const bool at_once : {false, true}) {
        try {
          team.map<int>(100, [&](std::size_t i) -> int {
            if (i == 17) at_once ? _exit(status) : std::exit(status);
            return 0;
          });
          FAIL() << "nobody was lost";
        } catch (const core::LostError& error) {
          EXPECT_TRUE(holds(error, "exited with status " + std::to_string(status)));
          EXPECT_TRUE(holds(error, "task 17") || holds(error, "or 17")) << error.what();
        }
      }
    }
  }
}

TEST_F(FaultyTeam, EndsAtOnceWhicheverProcessIsLostWhileTheOthersWork) {
  for (const ForkOrder order : {ForkOrder::tree, ForkOrder::serial}) {
    for (int lost = 0; lost < 7; ++lost) {
      Team team({.processes = 7, .threads = 1, .fork = order});
      try {
        team.run([&](const Worker& worker) {
          if (worker.process == lost) die_by(SIGKILL);
          wait_forever();
        });
        FAIL() << "nobody was lost";
      } catch (const core::LostError& error) {
        EXPECT_EQ(error.rank(), lost);
      }
    }
  }
}

TEST_F(FaultyTeam, EndsThreadsOfOtherProcessesToo) {
  Team team({.processes = 3, .threads = 3});
  try {
    team.run([&](const Worker& worker) {
      if (worker.index == 7) std::exit(9);
      wait_forever();
    });
    FAIL() << "nobody was lost";
  } catch (const core::LostError& error) {
    EXPECT_EQ(error.rank(), 2);
    EXPECT_TRUE(holds(error, "task 7:")) << error.what();
  }
}

TEST_F(FaultyTeam, TellsOneLossWhenAllAreLost) {
  Team team({.processes = 5, .threads = 2});
  EXPECT_THROW(team.run([] { die_by(SIGKILL); }), core::LostError);
  EXPECT_THROW(team.run([] { _exit(0); }), core::LostError);
}

TEST_F(FaultyTeam, SeesALossBehindBlockedSignals) {
  Team team({.processes = 2, .threads = 1});
  EXPECT_THROW(team.run([](const Worker& worker) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    if (worker.process == 1) die_by(SIGKILL);
  }),
               core::LostError);
}

TEST_F(FaultyTeam, CutsNoSleepShort) {
  SharedValues<int> cut(1);
  SharedValues<int> started(1);
  constexpr int kProcesses = 7;
  Team team({.processes = kProcesses, .threads = 1});
  team.run([&](const Worker& worker) {
    ++started[0];
    while (started[0].load() < kProcesses) usleep(100);
    // The later ones are the children of the earlier ones, and end while those sleep.
    if (usleep(static_cast<useconds_t>(20'000 * (kProcesses - worker.process))) != 0) ++cut[0];
  });
  EXPECT_EQ(cut[0].load(), 0);
}

TEST_F(FaultyTeam, SeesALossWhateverTasksDoWithSigchld) {
  constexpr int kProcesses = 7;
  for (const auto action : {SIG_IGN, take_any_end}) {
    for (int lost = 0; lost < kProcesses; ++lost) {
      SharedValues<int> started(1);
      Team team({.processes = kProcesses, .threads = 1});
      try {
        team.run([&](const Worker& worker) {
          signal(SIGCHLD, action);
          ++started[0];
          while (started[0].load() < kProcesses) usleep(100);
          if (worker.process == lost) die_by(SIGKILL);
          wait_forever();
        });
        FAIL() << "nobody was lost";
      } catch (const core::LostError& error) {
        EXPECT_EQ(error.rank(), lost);
        EXPECT_TRUE(holds(error, "signal 9") || holds(error, "another wait")) << error.what();
      }
    }
  }
}

TEST_F(FaultyTeam, SeesALossWhateverTheCallerDoesWithSigchld) {
  constexpr int kProcesses = 3;
  for (const auto action : {SIG_IGN, take_any_end}) {
    for (int lost = 0; lost < kProcesses; ++lost) {
      const auto before = signal(SIGCHLD, action);
      try {
        Team({.processes = kProcesses, .threads = 1}).run([&](const Worker& worker) {
          if (worker.process == lost) die_by(SIGKILL);
          wait_forever();
        });
        ADD_FAILURE() << "nobody was lost";
      } catch (const core::LostError& error) {
        EXPECT_EQ(error.rank(), lost);
        EXPECT_TRUE(holds(error, "signal 9") || holds(error, "another wait")) << error.what();
      }
      signal(SIGCHLD, before);
    }
  }
}

TEST_F(FaultyTeam, LeavesTheOwnChildrenOfATaskAlone) {
  Team team({.processes = 2, .threads = 1});
  const auto statuses = team.map<int>(8, [](std::size_t i) {
    const pid_t pid = fork_child([i]() -> int { i % 2 ? std::exit(7) : _exit(8); });
    return wait_for_child(pid);
  });
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(statuses[i], i % 2 ? 7 : 8);
}

TEST_F(FaultyTeam, KeepsALossOfAnInnerTeamInside) {
  Team team({.processes = 2, .threads = 1});
  const auto caught = team.map<bool>(4, [](std::size_t) {
    try {
      Team({.processes = 3, .threads = 1}).run([](const Worker& worker) {
        if (worker.process == 2) die_by(SIGKILL);
        wait_forever();
      });
    } catch (const core::LostError&) {
      return true;
    }
    return false;
  });
  EXPECT_EQ(caught, std::vector<bool>(4, true));
}

TEST_F(FaultyTeam, DiesWithTheCaller) {
  constexpr int kProcesses = 6;
  int adopted_before = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &adopted_before, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  SharedValues<pid_t> pids(kProcesses);
  const pid_t caller = fork_child([&] {
    Team({.processes = kProcesses, .threads = 2}).run([&](const Worker& worker) {
      pids[static_cast<std::size_t>(worker.process)] = getpid();
      wait_forever();
    });
    return 0;
  });
  for (std::size_t i = 0; i < kProcesses; ++i) {
    while (pids[i].load() == 0) usleep(100);
  }
  kill(caller, SIGKILL);
  EXPECT_EQ(wait_for_child(caller), 128 + SIGKILL);
  // Orphans in the order of the tree: a child is ours when its parent was reaped.
  for (std::size_t i = 0; i < kProcesses; ++i) {
    EXPECT_EQ(wait_for_child(pids[i].load()), 128 + SIGKILL);
  }
  prctl(PR_SET_CHILD_SUBREAPER, adopted_before, 0, 0, 0);
}

}  // namespace
}  // namespace tabane::team
