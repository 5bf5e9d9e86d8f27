// Processes that hear of the loss of one instead of being ended with it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>

#include "tabane/core/error.h"
#include "tabane/team/fork.h"
#include "tabane/team/job.h"
#include "tabane/team/leftovers_test.h"
#include "tabane/team/process_tree.h"
#include "tabane/team/team.h"

namespace tabane::team {
namespace {

struct Heard {
  std::atomic<int> process{-1}, by_signal{-1}, code{-1};
  std::atomic<pid_t> pid{0};
  std::atomic<int> started{0};
  std::atomic<int> ended{0};  // processes that returned by themselves
};

void note(void* context, const Loss& loss) {
  Heard& heard = *static_cast<Heard*>(context);
  heard.pid = loss.pid;
  heard.by_signal = loss.by_signal;
  heard.code = loss.code;
  heard.process = loss.process;
}

class TeamLoss : public LeavesNothing {
 protected:
  TeamLoss() : block_(std::make_unique<SharedBlock>(sizeof(Heard), "test")), heard_(reset()) {}
  void TearDown() override {
    block_.reset();
    LeavesNothing::TearDown();
  }

  Heard& reset() { return *new (block_->data()) Heard; }

  void run(int processes, double grace, const std::function<void(const Worker&)>& body) {
    const Job job{.once_per_worker = true,
                  .do_tasks = [&](Progress& at, std::size_t i, std::size_t) {
                    if (at.begins(i)) body(at.worker);
                  }};
    run_job(job, {.processes = processes,
                  .forked = true,
                  .loss_listener = LossListener{note, &heard_, grace}});
  }
  void wait_until_heard() {
    while (heard_.process == -1) usleep(500);
  }

  void wait_until_started(int processes) {
    while (heard_.started < processes) usleep(500);
  }

  std::unique_ptr<SharedBlock> block_;
  Heard& heard_;
};

constexpr double kLong = 60;

TEST_F(TeamLoss, IsToldToAllOthersWhicheverProcessItIs) {
  constexpr int kProcesses = 8;
  for (int lost = 0; lost < kProcesses; ++lost) {
    reset();
    try {
      run(kProcesses, kLong, [&](const Worker& worker) {
        ++heard_.started;
        if (worker.process == lost) {
          wait_until_started(kProcesses);
          raise(SIGKILL);
        }
        wait_until_heard();
        ++heard_.ended;
      });
      FAIL() << "nobody was lost";
    } catch (const core::LostError& error) {
      EXPECT_EQ(error.rank(), lost);
      EXPECT_EQ(error.pid(), heard_.pid);
    }
    EXPECT_EQ(heard_.process, lost);
    EXPECT_EQ(heard_.by_signal, 1);
    EXPECT_EQ(heard_.code, SIGKILL);
    EXPECT_EQ(heard_.ended, kProcesses - 1) << "when process " << lost << " is lost";
  }
}

void nothing(int) {}

TEST_F(TeamLoss, IsToldWhateverTasksDoWithSigchld) {
  constexpr int kProcesses = 8;
  for (const auto action : {SIG_DFL, SIG_IGN, take_any_end, nothing}) {
    for (int lost = 1; lost < kProcesses; ++lost) {
      reset();
      EXPECT_THROW(run(kProcesses, kLong,
                       [&](const Worker& worker) {
                         signal(SIGCHLD, action);
                         ++heard_.started;
                         wait_until_started(kProcesses);
                         if (worker.process == lost) raise(SIGTERM);
                         wait_until_heard();
                         ++heard_.ended;
                       }),
                   core::LostError);
      EXPECT_EQ(heard_.process, lost);
      const bool keeps_end = action == SIG_DFL || action == nothing;
      EXPECT_TRUE(heard_.code == SIGTERM || (!keeps_end && heard_.code == kEndUnknown))
          << heard_.code;
      EXPECT_EQ(heard_.ended, kProcesses - 1);
    }
  }
}

// The caller stays in this process: its action is put back.
TEST_F(TeamLoss, IsToldWhateverTheCallerDoesWithSigchld) {
  constexpr int kProcesses = 4;
  for (const auto action : {SIG_IGN, take_any_end}) {
    for (int lost = 0; lost < kProcesses; ++lost) {
      reset();
      const auto before = signal(SIGCHLD, action);
      EXPECT_THROW(run(kProcesses, kLong,
                       [&](const Worker& worker) {
                         ++heard_.started;
                         wait_until_started(kProcesses);
                         if (worker.process == lost) raise(SIGKILL);
                         wait_until_heard();
                         ++heard_.ended;
                       }),
                   core::LostError);
      signal(SIGCHLD, before);
      EXPECT_EQ(heard_.process, lost);
      EXPECT_TRUE(heard_.code == SIGKILL || heard_.code == kEndUnknown) << heard_.code;
      EXPECT_EQ(heard_.ended, kProcesses - 1);
    }
  }
}

TEST_F(TeamLoss, IsToldOfTheLastProcess) {
  for (int i = 0; i < 100; ++i) {
    reset();
    EXPECT_THROW(run(2, kLong,
                     [&](const Worker& worker) {
                       if (worker.process == 1) return;
                       usleep(300);
                       raise(SIGKILL);
                     }),
                 core::LostError);
    EXPECT_EQ(heard_.process, 0);
  }
}

TEST_F(TeamLoss, IsToldOfAProcessThatExits) {
  EXPECT_THROW(run(3, kLong,
                   [&](const Worker& worker) {
                     ++heard_.started;
                     // One that has no parent before it is there is lost, too.
                     wait_until_started(3);
                     if (worker.process == 1) exit(7);
                     wait_until_heard();
                   }),
               core::LostError);
  EXPECT_EQ(heard_.process, 1);
  EXPECT_EQ(heard_.by_signal, 0);
  EXPECT_EQ(heard_.code, 7);
}

TEST_F(TeamLoss, EndsThoseWhoDoNotListenAfterTheGrace) {
  EXPECT_THROW(run(5, 0.05,
                   [&](const Worker& worker) {
                     if (worker.process == 1) raise(SIGKILL);
                     for (;;) pause();
                   }),
               core::LostError);
  EXPECT_THROW(run(5, 0.05,
                   [&](const Worker& worker) {
                     if (worker.process == 4) throw std::runtime_error("no more");
                     for (;;) pause();
                   }),
               TaskError);
}

TEST_F(TeamLoss, OfTheCallerEndsAll) {
  const AdoptOrphans adopt;  // so that LeavesNothing sees who is left
  const pid_t caller = fork_child([&] {
    run(6, kLong, [&](const Worker&) {
      ++heard_.started;
      for (;;) pause();
    });
    return 0;
  });
  wait_until_started(6);
  kill(caller, SIGKILL);
  int gone = 0;
  while (gone < 7) {
    if (waitpid(-1, nullptr, 0) > 0) ++gone;
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace tabane::team
