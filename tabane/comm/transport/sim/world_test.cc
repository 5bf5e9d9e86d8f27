// That the order of ranks is that of their clocks, and how a world ends.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tabane/comm/machine.h"
#include "tabane/comm/runners_test.h"
#include "tabane/comm/simulated_run.h"
#include "tabane/core/clock.h"

namespace tabane::comm {
namespace {

// The message that arrives first is taken first, not the one that was sent first on this computer.
TEST(SimulatedMachine, TakesFromAnySourceInOrderOfArrival) {
  std::vector<int> order;
  const std::vector<double> begins{0, 400, 100, 300, 200};
  launch({.machine = "ap1000:1x5"}, [&](Comm& comm) {
    if (comm.rank() > 0) {
      comm.compute({.operations = begins[static_cast<std::size_t>(comm.rank())] / 0.18});
      return comm.send(0, comm.rank());
    }
    for (int i = 1; i < comm.size(); ++i) order.push_back(comm.recv<int>(any_source));
  });
  EXPECT_EQ(order, (std::vector{2, 4, 3, 1}));
}

TEST(SimulatedMachine, LooksForMessagesAtItsOwnTime) {
  launch({.machine = "ap1000:1x2"}, [](Comm& comm) {
    if (comm.rank() == 0) {
      comm.compute({.operations = 1000});
      return comm.send(1, 5);
    }
    int looks = 1;
    while (!comm.probe(0)) ++looks;
    // 180 us of work, 10.2 until it arrives; a look takes 1 us.
    require_equal(looks, 191);
    require_equal(comm.recv<int>(0), 5);
  });
}

// Also where a look costs nothing, or has no law: the clocks of those that it waits for get on.
TEST(SimulatedMachine, EndsLooksThatCostNothing) {
  launch({.machine = "ap1000:1x2", .machine_changes = "probe=0"}, [](Comm& comm) {
    if (comm.rank() == 0) {
      comm.compute({.operations = 100});
      return comm.send(1, 5);
    }
    while (!comm.probe(0)) continue;
    require(comm.now() > 28e-6 && comm.now() < 29e-6);
    require_equal(comm.recv<int>(0), 5);
  });
}

// A short message overtakes no long one that went before, not even one that a receive has taken.
TEST(SimulatedMachine, KeepsMessagesOfAPairInOrder) {
  launch({.machine = "ap1000:1x2", .machine_changes = "send.occupancy=0,recv.copy=0"},
         [](Comm& comm) {
           std::vector<char> many(10'000);
           char one = 0;
           if (comm.rank() == 1) {
             comm.send(0, many, 1);
             return comm.send(0, one, 2);
           }
           Request first = comm.irecv(1, many, 1), second = comm.irecv(1, std::span(&one, 1), 2);
           second.wait();
           require(std::abs(comm.now() - 510e-6) < 1e-12);
           first.wait();
           require(std::abs(comm.now() - 510e-6) < 1e-12);
         });
}

// A destructor may receive while an exception is on its way: that receive is none that is given up.
TEST(SimulatedMachine, EndsReceivesThatBeganInADestructor) {
  struct Receiver {
    Comm& comm;
    int& value;
    ~Receiver() { comm.irecv(1, std::span(&value, 1)); }
  };
  launch({.machine = "ap1000:1x2"}, [](Comm& comm) {
    if (comm.rank() == 1) return comm.send(0, 5);
    int value = 0;
    try {
      const Receiver receiver{comm, value};
      throw core::Error("out");
    } catch (const core::Error&) {
      require_equal(value, 5);
    }
  });
}

TEST(SimulatedMachine, TakesTurnsAlikeEachTime) {
  const auto trace = [] {
    std::vector<double> times;
    launch({.machine = "ap1000:4x4"}, [&](Comm& comm) {
      double value = 1.0 / (1 + comm.rank());
      for (int i = 0; i < 20; ++i) {
        comm.compute({.operations = 100.0 * ((comm.rank() * 7 + i) % 5)});
        const int next = (comm.rank() + 1) % comm.size();
        comm.send(next, value);
        value += 0.5 * comm.recv<double>(any_source);
        value = all_reduce(comm, value, Operation::sum) / comm.size();
        times.push_back(comm.now());
      }
      times.push_back(value);
    });
    return times;
  };
  EXPECT_EQ(trace(), trace());
}

TEST(SimulatedMachine, SaysWhoWaitsForWhom) {
  const std::string messages = error_of<core::Error>([] {
    launch({.machine = "ap1000:1x3"}, [](Comm& comm) {
      const int next = (comm.rank() + 1) % comm.size();
      const int value = comm.recv<int>(next, 9);
      comm.send(next, value);
    });
  });
  for (const int rank : {0, 1, 2}) {
    require_contains(messages, "rank " + std::to_string(rank) + " waits for rank " +
                                   std::to_string((rank + 1) % 3) + " (tag 9)");
  }
  const std::string collective = error_of<core::Error>([] {
    launch({.machine = "ap1000:1x3"}, [](Comm& comm) {
      if (comm.rank() != 1) barrier(comm);
    });
  });
  require_contains(collective, "rank 0 waits in barrier for rank 1");
  require_contains(collective, "1 of 3 have returned");
}

TEST(SimulatedMachine, EndsAllRanksWithOne) {
  std::array<bool, 4> lost{};
  EXPECT_EQ(error_of<core::UsageError>([&] {
              launch({.machine = "ap1000:2x2"}, [&](Comm& comm) {
                if (comm.rank() == 2) throw core::UsageError("no paper");
                try {
                  comm.recv<int>(any_source);
                } catch (const core::LostError& error) {
                  lost[static_cast<std::size_t>(comm.rank())] = error.rank() == 2;
                  barrier(comm);
                }
              });
            }),
            "rank 2: no paper");
  EXPECT_EQ(lost, (std::array{true, true, false, true}));
}

// Handlers and destructors of several ranks wait at the same time.
TEST(SimulatedMachine, KeepsTheExceptionsOfRanksApart) {
  launch({.machine = "ap1000:2x4"}, [](Comm& comm) {
    for (int i = 0; i < 3; ++i) {
      try {
        throw core::Error(std::to_string(comm.rank()));
      } catch (const core::Error& error) {
        const int next = (comm.rank() + 1) % comm.size();
        comm.send(next, i);
        require_equal(comm.recv<int>(any_source), i);
        require_equal(std::string(error.what()), std::to_string(comm.rank()));
        try {
          throw;
        } catch (const core::Error& again) {
          require_equal(&again == &error, true);
        }
        barrier(comm);
      }
    }
  });
}

// In bytes, without the stacks, while all are at a barrier at the end of f.
std::size_t memory_of_a_rank(const std::string& machine, const RankFunction& f) {
  const std::size_t before = mallinfo2().uordblks;
  std::size_t of_all = 0;
  launch({.machine = machine}, [&](Comm& comm) {
    f(comm);
    barrier(comm);
    if (comm.rank() == 0) {
      of_all = (mallinfo2().uordblks - before) / static_cast<std::size_t>(comm.size());
    }
  });
  return of_all;
}

TEST(SimulatedMachine, HoldsManyRanks) {
#if defined(__SANITIZE_THREAD__)  // its own part of each rank takes a megabyte
  const char* const machine = "ap1000:16x16";
#else
  const char* const machine = "ap1000:64x64";
#endif
  EXPECT_LT(memory_of_a_rank(machine,
                             [](Comm& comm) {
                               barrier(comm);
                               require(std::abs(comm.now() - 10.6e-6) < 1e-12);
                             }),
            8 * 1024);
}

// What a rank keeps of messages that have long arrived does not grow with the number of its peers.
TEST(SimulatedMachine, ForgetsMessagesThatHaveArrived) {
  SimulatedRun run;
  EXPECT_LT(memory_of_a_rank("ap1000:16x16",
                             [&](Comm& comm) {
                               if (comm.rank() == 0) record_run(comm.transport(), run);
                               for (int i = 1; i < comm.size(); ++i) {
                                 comm.send((comm.rank() + i) % comm.size(), i);
                                 require_equal(comm.recv<int>(any_source) > 0, true);
                               }
                             }),
            8 * 1024);
  EXPECT_EQ(run.ranks.size(), 256);
}

// ---- where the time goes ----

// In microseconds.
std::array<double, 5> microseconds(const Activities& activities) {
  std::array<double, 5> all = activities.of;
  for (double& one : all) one = std::round(1e9 * one) / 1e3;
  return all;
}

Activities of_rank(const SimulatedRun& run, std::size_t rank) {
  Activities all;
  for (const Activities& slice : run.ranks[rank]) {
    for (std::size_t i = 0; i < all.of.size(); ++i) all.of[i] += slice.of[i];
  }
  return all;
}

// By hand: rank 1 computes 180 us and sends 8 bytes, which are there after 9.84 + 0.4 + 0.16 us and
// cost it 9.536 us and the receiver 10.04; rank 0 has computed 18 us, and waits. Then both sum up.
TEST(SimulatedMachine, SaysWhereTheTimeGoes) {
  SimulatedRun run;
  launch({.machine = "ap1000:1x2"}, [&](Comm& comm) {
    if (comm.rank() == 0) record_run(comm.transport(), run);
    comm.compute({.operations = comm.rank() == 1 ? 1000.0 : 100.0});
    if (comm.rank() == 1) comm.send(0, 1.0);
    if (comm.rank() == 0) comm.recv<double>(1);
    all_reduce(comm, 1.0, Operation::sum);
  });
  EXPECT_NEAR(run.seconds, 215.44e-6, 1e-12);
  EXPECT_EQ(microseconds(run.path), (std::array{180.0, 0.0, 10.04, 15.0, 10.4}));
  EXPECT_EQ(run.path_messages, 1);
  ASSERT_EQ(run.ranks.size(), 2);
  EXPECT_EQ(microseconds(of_rank(run, 0)), (std::array{18.0, 0.0, 10.04, 15.0, 172.4}));
  EXPECT_EQ(microseconds(of_rank(run, 1)), (std::array{180.0, 9.536, 0.0, 15.0, 10.904}));
  // Slices of 4 us: rank 0 computes in the first ones, and waits in the last but five.
  EXPECT_EQ(run.slice_seconds, 4e-6);
  EXPECT_EQ(microseconds(run.ranks[0][0]), (std::array{4.0, 0.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(microseconds(run.ranks[0][4]), (std::array{2.0, 0.0, 0.0, 0.0, 2.0}));
  EXPECT_EQ(microseconds(run.ranks[0][40]), (std::array{0.0, 0.0, 0.0, 0.0, 4.0}));
}

// Of two messages, the second arrives while the first is copied: nobody waits for it.
TEST(SimulatedMachine, FollowsNoMessageThatArrivesWhileItsReceiverIsBusy) {
  SimulatedRun run;
  launch({.machine = "ap1000:1x3"}, [&](Comm& comm) {
    if (comm.rank() == 0) record_run(comm.transport(), run);
    if (comm.rank() == 2) comm.compute({.operations = 100});
    std::vector<double> values(125);
    for (int from = 1; from < comm.size(); ++from) {
      if (comm.rank() == from) comm.send(0, values);
      if (comm.rank() == 0) comm.recv(from, values);
    }
  });
  const double copy = 1e-6 * sim::machine_named("ap1000:1x3", 0).receive_copy.at({1000});
  EXPECT_NEAR(run.path[Activity::receive], 2 * copy, 1e-12);
  EXPECT_EQ(run.path_messages, 1);
}

// The path's sum is the time, whoever waits for whom and how.
TEST(SimulatedMachine, FollowsTheCriticalPath) {
  SimulatedRun run;
  launch({.machine = "ap1000:4x4"}, [&](Comm& comm) {
    if (comm.rank() == 0) record_run(comm.transport(), run);
    for (int i = 0; i < 10; ++i) {
      comm.compute({.operations = 100.0 * ((comm.rank() * 7 + i) % 5)});
      const int next = (comm.rank() + 1) % comm.size();
      comm.send(next, i);
      if (i % 3 == 0) {
        while (!comm.probe(any_source)) continue;
      }
      int got = 0;
      Request request = comm.irecv(any_source, std::span(&got, 1));
      request.wait();
      double value = i;
      broadcast(comm, value, i);
      gather(comm, std::span(&value, 1), std::vector<double>(16), 0);
    }
  });
  EXPECT_NEAR(run.path.sum(), run.seconds, 1e-9 * run.seconds);
  for (std::size_t rank = 0; rank < 16; ++rank) {
    EXPECT_NEAR(of_rank(run, rank).sum(), run.seconds, 1e-4) << rank;
  }
}

// A rank that looks for the message again and again is on the path no more than one that waits.
TEST(SimulatedMachine, FollowsTheCriticalPathThroughLooks) {
  SimulatedRun run;
  launch({.machine = "ap1000:1x2"}, [&](Comm& comm) {
    if (comm.rank() == 0) record_run(comm.transport(), run);
    if (comm.rank() == 1) {
      comm.compute({.operations = 1000});
      return comm.send(0, 5);
    }
    while (!comm.probe(1)) continue;
    comm.recv<int>(1);
  });
  EXPECT_NEAR(run.path[Activity::compute], 180e-6, 1e-12);
  EXPECT_EQ(run.path_messages, 1);
}

// Of several runs, one at least meets few waits of the system's, such as for a page of a file.
TEST(SimulatedMachine, WarnsOfSleep) {
  const auto warnings = [](int sleepers) {
    SimulatedRun run;
    launch({.machine = "ap1000:4x4"}, [&](Comm& comm) {
      if (comm.rank() == 0) record_run(comm.transport(), run);
      for (int i = 0; i < 4 && comm.rank() < sleepers; ++i) usleep(100);
    });
    return run.warnings;
  };
  ASSERT_EQ(warnings(16).size(), 1);
  require_contains(warnings(16)[0], "the program slept ");
  bool is_silent = false;
  for (int i = 0; i < 100 && !is_silent; ++i) is_silent = warnings(1).empty();
  EXPECT_TRUE(is_silent);
}

TEST(SimulatedMachine, WarnsOfARealClock) {
  const auto warns = [](bool is_real) {
    SimulatedRun run;
    launch({.machine = "ap1000:1x2"}, [&](Comm& comm) {
      if (comm.rank() == 1) return;
      record_run(comm.transport(), run);
      require((is_real ? core::tick_clock().now() : comm.now()) >= 0);
    });
    return std::ranges::any_of(run.warnings, [](const std::string& warning) {
      return warning.find("reads a real clock") != warning.npos;
    });
  };
  EXPECT_FALSE(warns(false));
  EXPECT_TRUE(warns(true));
}

// Also a rank that is alone, or that waits in a collective, is asked; all ranks are unwound.
TEST(SimulatedMachine, EndsByWhatACheckThrows) {
  struct Enough {};
  for (const char* const machine : {"ap1000:1x1", "ap1000:4x4"}) {
    int checks = 0, unwound = 0, steps = 0;
    const auto run = [&](Comm& comm) {
      struct Guard {
        int& count;
        ~Guard() { ++count; }
      } const guard{unwound};
      check_run(comm.transport(), [&] {
        if (++checks > 100) throw Enough();
      });
      for (; steps < 10'000; ++steps) {
        if (comm.size() == 1) comm.compute({.operations = 100});
        barrier(comm);
      }
    };
    EXPECT_THROW(launch({.machine = machine}, run), Enough) << machine;
    EXPECT_EQ(checks, 101) << machine;
    EXPECT_LT(steps, 10'000) << machine;
    EXPECT_EQ(unwound, sim::machine_named(machine, 0).ranks());
  }
}

// Comparing what ranks call takes none of the machine's time. (In calls that do not block, it may
// take a look at whether a message is there.)
TEST(SimulatedMachine, ComparesCollectivesInNoTime) {
  const auto times = [](bool compares) {
    std::vector<std::vector<double>> all(9);  // by rank
    launch({.check_collectives = compares, .machine = "ap1000:3x3"}, [&](Comm& comm) {
      for (int i = 0; i < 5; ++i) {
        comm.compute({.operations = 100.0 * ((comm.rank() * 7 + i) % 5)});
        std::vector<double> values(20, 1.0);
        all_reduce(comm, values, Operation::sum);
        broadcast(comm, values, i);
        all[static_cast<std::size_t>(comm.rank())].push_back(comm.now());
      }
    });
    return all;
  };
  EXPECT_EQ(times(false), times(true));
}

}  // namespace
}  // namespace tabane::comm
