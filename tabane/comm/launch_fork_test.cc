#include "tabane/comm/launch.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/ends_test.h"
#include "tabane/comm/runners_test.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/topology.h"
#include "tabane/team/fork.h"

namespace tabane::comm {
namespace {

LaunchOptions on_shm(int ranks) { return {.ranks = ranks, .transport = TransportKind::shm}; }

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

class Launch : public testing::Test {
 protected:
  void TearDown() override { EXPECT_FALSE(has_children()); }
};

TEST_F(Launch, RunsOneRankAPuByDefault) {
  const auto pus = core::Topology::detect().pus().size();
  EXPECT_EQ(launch_result<int>(on_shm(0), [](Comm& comm) { return comm.size(); }),
            static_cast<int>(pus));
}

TEST_F(Launch, RefusesNumbersOfRanksThatCannotBe) {
  EXPECT_EQ(error_of<core::UsageError>([] { launch(on_shm(-1), [](Comm&) {}); }),
            "ranks = -1 cannot be: give 1 to 4096, or 0 for one a PU");
  error_of<core::UsageError>([] { launch(on_shm(4097), [](Comm&) {}); });
}

// Whatever the others do: one computes, one waits, one swallows every exception.
TEST_F(Launch, EndsAllRanksWhenOneAborts) {
  for (const int ranks : {2, 5}) {
    try {
      launch(on_shm(ranks), [&](Comm& comm) {
        Comm turned = comm.split(0, -comm.rank()).value();
        if (turned.rank() == 0) turned.abort(42);
        for (;;) {
          if (comm.rank() == 0) continue;
          try {
            comm.recv<int>(any_source);
          } catch (const std::exception&) {
          }
        }
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const AbortError& error) {
      EXPECT_EQ(error.rank(), ranks - 1);
      EXPECT_EQ(error.code(), 42);
      EXPECT_EQ(error.what(),
                "rank " + std::to_string(ranks - 1) + " has aborted the job with code 42");
    }
  }
}

TEST_F(Launch, PassesOnWhatASingleRankAborts) {
  try {
    launch(on_shm(1), [](Comm& comm) { comm.abort(-3); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const AbortError& error) {
    EXPECT_EQ(error.rank(), 0);
    EXPECT_EQ(error.code(), -3);
  }
}

TEST_F(Launch, ComparesCollectivesByOptionAndByEnvironment) {
  const auto compares = [](const LaunchOptions& options) {
    return launch_result<bool>(options, [](Comm& comm) { return comm.group().compares_calls(); });
  };
  LaunchOptions options = on_shm(2);
  options.check_collectives = true;
  EXPECT_EQ(compares(options), true);
#ifdef NDEBUG
  setenv("TABANE_CHECK_COLLECTIVES", "0", 1);
  EXPECT_EQ(compares(on_shm(2)), false);
#endif
  setenv("TABANE_CHECK_COLLECTIVES", "1", 1);
  EXPECT_EQ(compares(on_shm(2)), true);
  unsetenv("TABANE_CHECK_COLLECTIVES");
}

TEST_F(Launch, RefusesAGridThatDoesNotFitBeforeAnyRankStarts) {
  LaunchOptions options = on_shm(6);
  options.grid = {4, 2};
  bool started = false;
  options.show_placement = [&](const core::Placement&) { started = true; };
  EXPECT_EQ(error_of<core::UsageError>([&] { launch(options, [](Comm&) {}); }),
            "a grid of 4 x 2 does not fit 6 ranks: give 1 x 6, 2 x 3, 3 x 2, 6 x 1");
  EXPECT_FALSE(started);
  options.grid = {0, 2};
  launch(options, [](Comm&) {});
}

TEST_F(Launch, RefusesTooLittleMemoryForMessages) {
  LaunchOptions options = on_shm(4);
  options.message_bytes = 100;
  error_of<core::UsageError>([&] { launch(options, [](Comm&) {}); });
}

TEST_F(Launch, RefusesRanksThatMemoryDoesNotHoldBeforeAnyStarts) {
  const std::optional<double> usable = core::usable_memory_bytes();
  if (!usable || *usable > 64e9) GTEST_SKIP() << "here it may hold them";
  LaunchOptions options = on_shm(4096);
  options.show_placement = [](const core::Placement&) { throw std::runtime_error("it starts"); };
  const std::string error = error_of<core::UsageError>([&] { launch(options, [](Comm&) {}); });
  EXPECT_TRUE(error.starts_with("4096 ranks need at least ")) << error;
}

TEST_F(Launch, ShowsWhereTheRanksWillRun) {
  LaunchOptions options = on_shm(3);
  std::optional<core::Placement> shown;
  options.show_placement = [&](const core::Placement& placement) { shown = placement; };
  launch(options, [](Comm&) {});
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->processes, 3);
  EXPECT_EQ(shown->workers_per_process, 1);
  EXPECT_EQ(shown->places.size(), 3U);
}

TEST_F(Launch, RunsOneRankInThisProcess) {
  int seen = 0;
  launch(on_shm(1), [&](Comm& comm) {
    comm.send(0, 7);
    seen = comm.recv<int>(0);
  });
  EXPECT_EQ(seen, 7);
}

TEST_F(Launch, LetsRanksReadTheCallersDataAndKeepTheirChanges) {
  std::vector<int> data{1, 2, 3};
  launch(on_shm(2), [&](Comm& comm) {
    data[0] += comm.rank();
    require_equal(data, std::vector<int>{1 + comm.rank(), 2, 3});
  });
  EXPECT_EQ(data, (std::vector<int>{1, 2, 3}));
}

TEST_F(Launch, ReturnsTheResultOfRank0) {
  const auto sum = [](Comm& comm) {
    if (comm.rank() != 0) {
      comm.send(0, comm.rank());
      return std::map<std::string, int>{};
    }
    int total = 0;
    for (int i = 1; i < comm.size(); ++i) total += comm.recv<int>(any_source);
    return std::map<std::string, int>{{"sum", total}};
  };
  for (const int ranks : {1, 2, 5}) {
    const auto result = launch_result<std::map<std::string, int>>(on_shm(ranks), sum);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->at("sum"), ranks * (ranks - 1) / 2);
  }
}

TEST_F(Launch, ReturnsLargeResults) {
  constexpr std::size_t kSize = 5'000'000;
  const auto result = launch_result<std::vector<int>>(on_shm(2), [](Comm&) {
    std::vector<int> numbers(kSize);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  });
  ASSERT_EQ(result->size(), kSize);
  EXPECT_EQ(result->front(), 0);
  EXPECT_EQ(result->back(), static_cast<int>(kSize - 1));
}

TEST_F(Launch, NamesWhoWasKilledAndWhatItDid) {
  const std::string error = error_of<core::LostError>([] {
    launch(on_shm(3), [](Comm& comm) {
      if (comm.rank() == 2) {
        comm.set_phase("the third sweep");
        kill(getpid(), SIGKILL);
      }
      comm.recv<int>(any_source);
    });
  });
  EXPECT_TRUE(error.starts_with("process 2 (pid ")) << error;
  EXPECT_TRUE(error.ends_with(") was lost during the third sweep: killed by signal 9 (Killed)"))
      << error;
}

TEST_F(Launch, NamesTheCollectiveInWhichARankWasKilled) {
  const std::string error = error_of<core::LostError>([] {
    launch(on_shm(3), [](Comm& comm) {
      all_reduce(comm, 1,
                 [&](int a, int b) {
                   if (comm.rank() == 2) kill(getpid(), SIGKILL);
                   return a + b;
                 },
                 {.algorithm = "flags"});
    });
  });
  EXPECT_TRUE(error.ends_with(") was lost during all_reduce: killed by signal 9 (Killed)"))
      << error;
}

TEST_F(Launch, SaysThatAPeerHasReturned) {
  const std::string error = error_of<core::Error>([] {
    launch(on_shm(2), [](Comm& comm) {
      if (comm.rank() == 0) comm.recv<int>(1);
    });
  });
  EXPECT_EQ(error, "rank 0: rank 1 has returned from its function while rank 0 waits for it");
}

TEST_F(Launch, TellsALossToAllOtherRanksWhereverTheyWait) {
  constexpr int kRanks = 6;
  for (const int lost : {0, 1, 5}) {
    Ends ends(kRanks);
    error_of<core::LostError>([&] {
      launch(on_shm(kRanks), [&](Comm& comm) {
        std::vector<char> large(3'000'000);
        try {
          barrier(comm);
          if (comm.rank() == lost) kill(getpid(), SIGKILL);
          switch (comm.rank() % 3) {
            case 0:
              comm.recv<int>(lost);
              break;
            case 1:
              comm.send(lost, large);
              break;
            default:
              barrier(comm);
          }
        } catch (const core::LostError&) {
        }
        try {
          all_reduce(comm, 1, Operation::sum);  // later calls fail, too
        } catch (const core::LostError& error) {
          ends.note(comm.rank(), Ends::lost, 0, error.what());
        }
      });
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == lost) continue;
      EXPECT_TRUE(ends.text(rank).starts_with("process " + std::to_string(lost) + " (pid "))
          << rank << " heard: " << ends.text(rank);
      EXPECT_TRUE(ends.text(rank).ends_with("killed by signal 9 (Killed)")) << ends.text(rank);
    }
  }
}

// Whether it had arrived or not, of whatever size: so a program does not depend on who was faster.
TEST_F(Launch, FailsEveryCallAfterALossWhateverHasArrived) {
  constexpr std::size_t kSizes[] = {8, 4096, 60000, 131072, 1 << 20};
  Ends ends(3);
  error_of<core::LostError>([&] {
    launch(on_shm(3), [&](Comm& comm) {
      const auto is_lost = [&](auto call) { error_of<core::LostError>(call); };
      Comm alone = comm.split(comm.rank()).value();
      std::vector<std::vector<char>> messages;
      for (const std::size_t size : kSizes) messages.emplace_back(size, 'a');
      std::vector<Request> requests;
      if (comm.rank() == 1) {
        for (const auto& one : messages) requests.push_back(comm.isend(2, one));
        comm.send(2, 1, 3);
        comm.send(0, 1);
      } else if (comm.rank() == 2) {
        requests.push_back(comm.irecv(1, messages[0]));
        comm.recv<int>(1, 3);
        requests[0].wait();
        comm.send(0, 1);
      } else {
        for (const int other : {1, 2}) comm.recv<int>(other);
        kill(getpid(), SIGKILL);
      }
      try {
        is_lost([&] { comm.recv<int>(0); });
        for (Request& request : requests) {
          is_lost([&] { request.wait(); });
          is_lost([&] { request.test(); });
        }
        for (auto& one : messages) {
          std::ranges::fill(one, 'b');
          is_lost([&] { comm.recv(1, one); });
          is_lost([&] { comm.irecv(1, one); });
          is_lost([&] { comm.recv_view<char>(1); });
          is_lost([&] { comm.send(3 - comm.rank(), one); });
          is_lost([&] { comm.isend(3 - comm.rank(), one); });
        }
        is_lost([&] { comm.probe(1); });
        is_lost([&] { comm.split(0); });
        is_lost([&] { broadcast(comm, messages[0], comm.rank()); });
        is_lost([&] { barrier(comm); });
        is_lost([&] { ibarrier(comm).wait(); });
        is_lost([&] { barrier(alone); });
        is_lost([&] { all_reduce(alone, 1, Operation::sum); });
        is_lost([&] { ibarrier(alone); });
      } catch (const core::Error& error) {
        ends.note(comm.rank(), Ends::lost, 0, error.what());
      }
    });
  });
  for (const int rank : {1, 2}) EXPECT_EQ(ends.text(rank), "");
}

TEST_F(Launch, TellsThoseInABarrierThatARankHasReturned) {
  for (const std::string algorithm : {"flags", "counter", "two_level", "messages"}) {
    error_of<core::Error>([&] {
      launch(on_shm(4), [&](Comm& comm) {
        if (comm.rank() != 3) barrier(comm, {.algorithm = algorithm});
      });
    });
  }
}

TEST_F(Launch, EndsWithItsCaller) {
  constexpr int kRanks = 5;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  team::SharedBlock block(sizeof(std::atomic<int>), "test");
  auto& started = *new (block.data()) std::atomic<int>(0);
  const pid_t caller = team::fork_child([&] {
    launch(on_shm(kRanks), [&](Comm& comm) {
      ++started;
      comm.recv<int>((comm.rank() + 1) % kRanks);
    });
    return 0;
  });
  while (started < kRanks) usleep(500);
  kill(caller, SIGKILL);
  for (int gone = 0; gone < kRanks + 1; ++gone) EXPECT_GT(waitpid(-1, nullptr, 0), 0);
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

TEST_F(Launch, NamesWhoExited) {
  const std::string error = error_of<core::LostError>([] {
    launch(on_shm(2), [](Comm& comm) {
      if (comm.rank() == 1) exit(5);  // NOLINT(concurrency-mt-unsafe)
      comm.recv<int>(1);
    });
  });
  EXPECT_TRUE(error.starts_with("process 1 (pid ")) << error;
  EXPECT_TRUE(error.ends_with(") was lost: exited with status 5")) << error;
}

TEST_F(Launch, TellsTheFirstFailureRatherThanItsConsequences) {
  for (int i = 0; i < 20; ++i) {
    const std::string error = error_of<core::Error>([] {
      launch(on_shm(4), [](Comm& comm) {
        if (comm.rank() == 3) throw core::Error("out of paper");
        comm.recv<int>(3);
      });
    });
    ASSERT_EQ(error, "rank 3: out of paper");
  }
}

TEST_F(Launch, TellsWhatTheOnlyRankThrew) {
  EXPECT_EQ(error_of<core::Error>(
                [] { launch(on_shm(1), [](Comm&) { throw core::Error("out of paper"); }); }),
            "rank 0: out of paper");
}

TEST_F(Launch, LetsAnImpossibleRequestOfARankStayOne) {
  for (const int ranks : {1, 3}) {
    EXPECT_EQ(error_of<core::UsageError>([&] {
                launch(on_shm(ranks), [](Comm& comm) {
                  if (comm.rank() == 0) throw core::UsageError("memory: too little");
                  comm.recv<int>(0);
                });
              }),
              "rank 0: memory: too little");
  }
}

TEST_F(Launch, WorksAgainAfterAFailure) {
  error_of<core::LostError>([] { launch(on_shm(2), [](Comm&) { kill(getpid(), SIGKILL); }); });
  EXPECT_EQ(launch_result<int>(on_shm(2), [](Comm& comm) { return comm.size(); }), 2);
}

}  // namespace
}  // namespace tabane::comm
