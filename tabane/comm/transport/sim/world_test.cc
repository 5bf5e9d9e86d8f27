// That the order of ranks is that of their clocks, and how a world ends.
#include <malloc.h>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "tabane/comm/runners_test.h"

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

TEST(SimulatedMachine, HoldsManyRanks) {
  const std::size_t before = mallinfo2().uordblks;
  std::size_t most = 0;
  launch({.machine = "ap1000:32x32"}, [&](Comm& comm) {
    barrier(comm);
    if (comm.rank() == 0) most = mallinfo2().uordblks;
    require(std::abs(comm.now() - 10.6e-6) < 1e-12);
  });
  EXPECT_LT(most, before + 1024 * 8 * 1024);  // 8 KiB each, without the stacks
}

}  // namespace
}  // namespace tabane::comm
