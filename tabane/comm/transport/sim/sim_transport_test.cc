// What primitives cost on the AP1000, by hand from its laws, and that the order of ranks is theirs.
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/comm/runners_test.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::comm {
namespace {

constexpr double kMicroseconds = 1e6;

// Microseconds that f takes on the rank that takes longest; the ranks begin at the same time.
double cost(const std::string& machine, const RankFunction& f, const std::string& changes = {}) {
  double most = 0;
  launch({.machine = machine, .machine_changes = changes}, [&](Comm& comm) {
    const double begin = comm.now();
    f(comm);
    most = std::max(most, kMicroseconds * (comm.now() - begin));
  });
  return most;
}

void ping_pong(Comm& comm, int far, std::size_t bytes, bool by_view) {
  std::vector<char> out(bytes), in(bytes);
  const auto receive = [&](int from) {
    by_view ? static_cast<void>(comm.recv_view<char>(from))
            : static_cast<void>(comm.recv(from, in));
  };
  if (comm.rank() == 0) {
    comm.send(far, out);
    receive(far);
  } else if (comm.rank() == far) {
    receive(0);
    comm.send(0, out);
  }
}
double one_way(int far, std::size_t bytes, bool by_view = false) {
  double cost_of_both = 0;
  launch({.machine = "ap1000:16x32"}, [&](Comm& comm) {
    ping_pong(comm, far, bytes, by_view);
    if (comm.rank() == 0) cost_of_both = kMicroseconds * comm.now();
  });
  return cost_of_both / 2;
}

constexpr int kFarthest = 8 * 32 + 16;  // 8 rows down and 16 columns to the right: 24 hops

TEST(Ap1000, SendsMessagesAsPublished) {
  for (const std::size_t bytes : {0, 100, 10'000}) {
    const auto x = static_cast<double>(bytes);
    EXPECT_NEAR(one_way(1, bytes), 0.18 * x + 19, 1e-7);
    EXPECT_NEAR(one_way(1, bytes, true), 0.05 * x + 10, 1e-7);
    EXPECT_NEAR(one_way(kFarthest, bytes), 0.18 * x + 19 + 23 * 0.16, 1e-7);
  }
  // It is a torus: the last rank of a row is beside its first one.
  EXPECT_NEAR(one_way(31, 0), 19, 1e-7);
}

// Many in a row, so that the latency of the last one does not count.
double of_many_broadcasts(int ranks, std::size_t bytes, const char* algorithm) {
  constexpr int kCalls = 1000;
  double root = 0;
  launch({.machine = "ap1000:" + std::to_string(ranks) + "x1"}, [&](Comm& comm) {
    std::vector<char> values(bytes);
    for (int i = 0; i < kCalls; ++i) broadcast(comm, values, 0, {algorithm});
    if (comm.rank() == 0) root = kMicroseconds * comm.now() / kCalls;
  });
  return root;
}

TEST(Ap1000, BroadcastsAsPublished) {
  for (const std::size_t bytes : {4, 1000}) {
    const auto x = static_cast<double>(bytes);
    EXPECT_NEAR(of_many_broadcasts(8, bytes, "native"), 0.11 * x + 2.8, 1e-7);
    EXPECT_NEAR(of_many_broadcasts(16, bytes, "native"), 0.13 * x + 2.7, 1e-7);
    EXPECT_NEAR(of_many_broadcasts(8, bytes, "binomial"), 0.201 * x + 27, 1e-7);
    EXPECT_NEAR(of_many_broadcasts(16, bytes, "binomial"), 0.268 * x + 36, 1e-7);
  }
}

// What is broadcast arrives as late as a message.
TEST(Ap1000, BroadcastsNoFasterThanTheNetwork) {
  EXPECT_NEAR(cost("ap1000:1x8",
                   [](Comm& comm) {
                     double value = comm.rank();
                     broadcast(comm, value, 0);
                     require_equal(value, 0.0);
                   }),
              9.84 + 0.05 * 8 + 4 * 0.16, 1e-7);
}

double of_sum(const std::string& shape) {
  return cost("ap1000:" + shape, [](Comm& comm) {
    const int sum = all_reduce(comm, comm.rank(), Operation::sum);
    require_equal(sum, comm.size() * (comm.size() - 1) / 2);
  });
}
double of_max(const std::string& shape) {
  return cost("ap1000:" + shape, [](Comm& comm) {
    const Located<double> found = all_reduce_max_loc(comm, -1.0 * std::abs(comm.rank() - 2), 7);
    require_equal(found.rank, 2);
    require_equal(found.index, 7);
  });
}

TEST(Ap1000, ReducesAsPublished) {
  const std::array<int, 3> sides{4, 8, 16};
  const std::array<double, 3> sums{23, 30, 39}, maxima{30, 40, 52};
  const std::array<double, 3> all_sums{44, 59, 79}, all_maxima{58, 78, 104};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::string m = std::to_string(sides[i]);
    EXPECT_NEAR(of_sum("1x" + m), 7 + 8 * std::log2(sides[i]), 1e-7);
    EXPECT_NEAR(of_max(m + "x1"), 8 + 11 * std::log2(sides[i]), 1e-7);
    EXPECT_NEAR(of_sum(m + "x1"), sums[i], 1.5);
    EXPECT_NEAR(of_max("1x" + m), maxima[i], 1.5);
    EXPECT_NEAR(of_sum(m + "x" + m), all_sums[i], 0.06 * all_sums[i]);
    EXPECT_NEAR(of_max(m + "x" + m), all_maxima[i], 0.06 * all_maxima[i]);
  }
}

TEST(Ap1000, GathersScattersAndMeetsAsPublished) {
  constexpr std::size_t kEach = 100;
  const auto gathered = [&](Layout layout) {
    return cost("ap1000:4x4", [&](Comm& comm) {
      std::vector<int> part(kEach, comm.rank()), all(comm.rank() == 3 ? 16 * kEach : 0);
      gather(comm, part, all, 3, layout);
      if (comm.rank() != 3) return;
      require_equal(all[layout == Layout::block ? 5 * kEach : 5], 5);
    });
  };
  const double bytes = 16 * kEach * sizeof(int);
  EXPECT_NEAR(gathered(Layout::block), 4200 + 0.041 * bytes, 1e-6);
  EXPECT_NEAR(gathered(Layout::cyclic), 3800 + 0.027 * bytes, 1e-6);
  EXPECT_NEAR(cost("ap1000:4x4",
                   [&](Comm& comm) {
                     std::vector<int> part(kEach), all(comm.rank() == 1 ? 16 * kEach : 0);
                     std::iota(all.begin(), all.end(), 0);
                     scatter(comm, all, part, 1);
                     require_equal(part[0], comm.rank() * static_cast<int>(kEach));
                   }),
              4900 + 0.043 * bytes, 1e-6);
  EXPECT_NEAR(cost("ap1000:16x32", [](Comm& comm) { barrier(comm); }), 10.6, 1e-7);
}

// Of a part of a kind, or of all.
TEST(SimulatedMachine, ComputesByTheNearestLaw) {
  const auto computed = [](std::string_view kind) {
    return cost("ap1000:1x1", [&](Comm& comm) { comm.compute({kind, 1000}); });
  };
  EXPECT_NEAR(computed("product.ldlt"), 800, 1e-7);
  EXPECT_NEAR(computed("product.ldlt.more"), 800, 1e-7);
  EXPECT_NEAR(computed("product.other"), 210, 1e-7);
  EXPECT_NEAR(computed("products"), 180, 1e-7);
  EXPECT_NEAR(computed(""), 180, 1e-7);
}

TEST(SimulatedMachine, LooksAtTheClock) {
  const core::ScratchFolder folder("machine");
  core::write_file(folder / "m.txt",
                   "shape = 1x2\nsend.latency = 1\nsend.occupancy = 1\nclock = 3\n");
  EXPECT_NEAR(cost(folder / "m.txt", [](Comm&) {}), 3, 1e-7);
  EXPECT_EQ(cost("ap1000:1x2", [](Comm&) {}), 0);
}

TEST(Ap1000, BarrierWaitsForTheLast) {
  EXPECT_NEAR(cost("ap1000:2x2",
                   [](Comm& comm) {
                     comm.compute({.operations = 1000.0 * comm.rank()});
                     barrier(comm);
                   }),
              3000 * 0.18 + 10.6, 1e-7);
}

// Whatever else happens to a rank while it waits: a message that any receive may take, or those of
// a collective that does not block.
TEST(Ap1000, BarrierWaitsForTheLastInSpiteOfMessages) {
  for (const bool is_collective : {false, true}) {
    launch({.machine = "ap1000:1x2"}, [&](Comm& comm) {
      int value = comm.rank();
      const std::span values(&value, 1);
      std::optional<Request> open;
      if (is_collective) {
        open.emplace(iall_reduce(comm, values, Operation::sum));
      } else if (comm.rank() == 0) {
        open.emplace(comm.irecv(any_source, values));
      } else {
        comm.send(0, 1);
      }
      if (comm.rank() == 1) comm.compute({.operations = 1000 / 0.18});
      const double begin = comm.now();
      barrier(comm);
      if (comm.rank() == 1) require(std::abs(comm.now() - begin - 10.6e-6) < 1e-12);
      require(comm.now() > 1010e-6);
      if (open) open->wait();
      require_equal(value, 1);
    });
  }
}

// What the last rank to come says of sizes and roots would be taken for all.
TEST(SimulatedMachine, ComparesCollectivesOfItsOwn) {
  const auto told = [](const RankFunction& f) {
    return error_of<core::Error>([&] {
      launch({.machine = "ap1000:1x3"}, [&](Comm& comm) {
        comm.check_collectives(false);
        f(comm);
      });
    });
  };
  const std::string begin = "ranks are in different collectives: rank 1 calls ";
  const auto size_of = [](const Comm& comm) { return comm.rank() == 1 ? 1000 : 1U; };
  EXPECT_EQ(
      told([&](Comm& comm) {
        std::vector<int> part(size_of(comm)), all(3 * part.size());
        gather(comm, part, all, 0);
      }),
      "rank 1: " + begin + "gather of 4000 bytes, root 0; rank 0 calls gather of 4 bytes, root 0");
  require_contains(told([&](Comm& comm) {
                     std::vector<int> part(size_of(comm)), all(3 * part.size());
                     scatter(comm, all, part, 0);
                   }),
                   begin + "scatter of 4000 bytes, root 0");
  require_contains(told([&](Comm& comm) {
                     int sum = 1;
                     reduce(comm, std::span(&sum, 1), Operation::sum, comm.rank() == 1 ? 1 : 0);
                   }),
                   begin + "reduce of 4 bytes, root 1; rank 0 calls reduce of 4 bytes, root 0");
  require_contains(told([&](Comm& comm) {
                     if (comm.rank() != 1) return void(all_reduce(comm, 1, Operation::sum));
                     all_reduce(comm, 1.0, Operation::sum);
                   }),
                   begin + "all_reduce of 8 bytes; rank 0 calls all_reduce of 4 bytes");
  require_contains(told([&](Comm& comm) {
                     if (comm.rank() != 1) return barrier(comm);
                     all_reduce(comm, 1, Operation::sum);
                   }),
                   begin + "all_reduce of 4 bytes; rank 0 calls barrier");
}

// Up a tree of empty messages and down again: 33 log2 p + 6.8 was published.
TEST(Ap1000, BarrierByATreeOfMessagesIsAsPublished) {
  for (const int side : {2, 4, 8, 16}) {
    const std::string shape = std::to_string(side) + "x" + std::to_string(side);
    const double measured = cost("ap1000:" + shape, [](Comm& comm) {
      const int p = comm.size(), rank = comm.rank();
      std::array<char, 0> nothing;
      int span = 1;
      for (; span < p && (rank & span) == 0; span *= 2) comm.recv(rank + span, nothing);
      if (rank > 0) {
        comm.send(rank - span, nothing);
        comm.recv(rank - span, nothing);
      }
      for (span /= 2; span > 0; span /= 2) comm.send(rank + span, nothing);
    });
    const double published = 33 * std::log2(side * side) + 6.8;
    EXPECT_NEAR(measured, published, 0.15 * published) << shape;
  }
}

// A sum of few values is faster one value after the other, one of more as a vector by messages.
TEST(Ap1000, SumsVectorsFasterFromThreeOrFourElementsOn) {
  for (const int side : {4, 8, 16}) {
    const std::string machine = "ap1000:" + std::to_string(side) + "x" + std::to_string(side);
    const auto one_by_one = [&](int elements) {
      return cost(machine, [&](Comm& comm) {
        for (int i = 0; i < elements; ++i) all_reduce(comm, 1.0, Operation::sum);
      });
    };
    const auto at_once = [&](int elements) {
      return cost(machine, [&](Comm& comm) {
        std::vector<double> values(static_cast<std::size_t>(elements), 1.0);
        reduce(comm, values, Operation::sum, 0, {"tree"});
        broadcast(comm, values, 0);
        require_equal(values.back(), 1.0 * comm.size());
      });
    };
    EXPECT_LT(one_by_one(2), at_once(2)) << side;
    EXPECT_GT(one_by_one(4), at_once(4)) << side;
  }
}

TEST(SimulatedMachine, ChangesWhatIsAsked) {
  const RankFunction messages = [](Comm& comm) { ping_pong(comm, 1, 100, false); };
  EXPECT_NEAR(cost("ap1000:1x2", messages), 2 * (18 + 19), 1e-7);
  EXPECT_NEAR(cost("ap1000:1x2", messages, "setup=0.5"), 2 * (18 + 18.84 / 2 + 0.16), 1e-7);
  EXPECT_NEAR(cost("ap1000:1x2", messages, "byte=2,hop=10"), 2 * (36 + 18.84 + 1.6), 1e-7);
  // Without the copy, the second sender is the last to end.
  EXPECT_NEAR(cost("ap1000:1x2", messages, "recv.copy=0"), 5 + 10 + 9 + 6.7, 1e-7);
}

TEST(SimulatedMachine, WantsRanksThatFit) {
  const auto nothing = [](Comm&) {};
  const auto refused = [&](const LaunchOptions& options) {
    return error_of<core::UsageError>([&] { launch(options, nothing); });
  };
  EXPECT_EQ(refused({.ranks = 5, .machine = "ap1000:2x2"}),
            "5 ranks do not fit ap1000:2x2, whose shape is 2x2: give 4");
  require_contains(refused({.machine = "ap1000"}), "no shape");
  require_contains(refused({.machine = "ap1000:2x0"}), "is no shape");
  require_contains(refused({.machine = "ap1000:4096x2"}), "4096 ranks");
  require_contains(refused({.machine = "cm5:2x2"}), "there is no machine 'cm5'");
  require_contains(refused({.machine = "ap1000:2x2", .machine_changes = "setup"}), "no change");
  require_contains(refused({.machine = "ap1000:2x2", .machine_changes = "seats=2"}),
                   "give one of setup, byte, hop");
}

}  // namespace
}  // namespace tabane::comm
