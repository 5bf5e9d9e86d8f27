// Random messages, and random collectives, between ranks of which one is killed or throws at a
// random moment: what comes is right, or the call throws LostError, and all come to their end.
// TABANE_TRAFFIC_ROUNDS and _SEED, TABANE_COLLECTIVES_ROUNDS and _SEED run them for longer, or
// again.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "tabane/comm/ends_test.h"
#include "tabane/comm/random_collectives_test.h"
#include "tabane/comm/random_traffic_test.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

struct UsersError : std::runtime_error {
  UsersError() : std::runtime_error("of the user") {}
};

// One launch, in which one rank is lost at a random moment.
struct Round {
  std::uint64_t seed = 0;
  int ranks = 0, lost = 0;
  bool kills = false;
  int moment = 0;  // microseconds, or calls
  std::size_t message_bytes = 0;

  static Round draw(std::uint64_t seed, bool kills) {
    std::mt19937_64 random(seed);
    Round round{.seed = seed, .ranks = static_cast<int>(3 + random() % 3), .kills = kills};
    round.lost = static_cast<int>(random() % static_cast<unsigned>(round.ranks));
    round.moment = static_cast<int>(random() % (kills ? 20000 : 200));
    // Now and then so little that many messages wait for room.
    round.message_bytes = random() % 3 == 0 ? 64 * 1024 * static_cast<std::size_t>(round.ranks) : 0;
    return round;
  }

  // Whatever still lies in this rank's channels.
  static void require_later_calls_fail(Comm& comm) {
    std::vector<std::byte> bytes(100'000);
    const int other = (comm.rank() + 1) % comm.size();
    error_of<core::LostError>([&] { comm.send(other, bytes); });
    error_of<core::LostError>([&] { comm.recv_view<std::byte>(any_source, any_tag); });
    error_of<core::LostError>([&] { comm.recv(other, bytes); });
  }

  // Until a loss: rank `lost` dies or throws.
  void live(Comm& comm, Ends& ends) const {
    int calls = 0;
    ends.note(comm.rank(), Ends::begun, 0);
    RandomTraffic traffic(comm, seed, [&] {
      if (!kills && comm.rank() == lost && ++calls > moment) throw UsersError();
    });
    if (kills && comm.rank() == lost) {
      std::thread([this] {
        usleep(static_cast<useconds_t>(moment));
        kill(getpid(), SIGKILL);
      }).detach();
    }
    try {
      traffic.run(1 << 20);
      ends.note(comm.rank(), Ends::finished, traffic.received());
    } catch (const core::LostError&) {
      try {
        require_later_calls_fail(comm);
        ends.note(comm.rank(), Ends::lost, traffic.received());
      } catch (const core::Error& error) {
        ends.note(comm.rank(), Ends::wrong, traffic.received(), error.what());
      }
    } catch (const core::Error& error) {
      ends.note(comm.rank(), Ends::wrong, traffic.received(), error.what());
      throw;
    }
  }
};

// Returns the number of messages that were checked.
std::uint64_t run_round(const Round& round) {
  SCOPED_TRACE("seed " + std::to_string(round.seed));
  Ends ends(round.ranks);
  try {
    run(
        round.ranks, [&](Comm& comm) { round.live(comm, ends); }, round.message_bytes);
    ADD_FAILURE() << "nothing was lost";
  } catch (const core::Error& error) {
    const std::string cause = round.kills ? "killed by signal 9" : "of the user";
    EXPECT_NE(std::string(error.what()).find(cause), std::string::npos) << error.what();
  }
  for (int rank = 0; rank < round.ranks; ++rank) {
    // It may be lost before others begin. One that has begun and did not come to its end was
    // killed because it did not answer.
    if (rank == round.lost || ends.end(rank) == Ends::none) continue;
    EXPECT_EQ(ends.end(rank), Ends::lost) << "rank " << rank << ": " << ends.text(rank);
  }
  return ends.checked();
}

void run_rounds(bool kills) {
  const std::uint64_t rounds = from_environment("TABANE_TRAFFIC_ROUNDS", 60);
  const std::uint64_t seed = from_environment("TABANE_TRAFFIC_SEED", std::random_device()());
  std::cout << "TABANE_TRAFFIC_SEED=" << seed << " TABANE_TRAFFIC_ROUNDS=" << rounds << std::endl;
  std::uint64_t messages = 0;
  for (std::uint64_t i = 0; i < rounds && !testing::Test::HasFailure(); ++i) {
    messages += run_round(Round::draw(seed + i, kills));
  }
  std::cout << rounds << (kills ? " kills, " : " throws, ") << messages << " messages checked"
            << std::endl;
}

TEST(RandomTrafficLosses, BringsRightContentOrAnErrorWhereARankThrows) { run_rounds(false); }

#if defined(TABANE_RANKS_ARE_ON_SHM) && !defined(TABANE_RANKS_ARE_THREADS)
TEST(RandomTrafficLosses, BringsRightContentOrAnErrorWhereARankIsKilled) { run_rounds(true); }
#endif

class RandomCollectivesLosses : public testing::Test {
 protected:
  void TearDown() override {
    std::cout << "TABANE_COLLECTIVES_SEED=" << seed_ << ": " << checked_ << " collectives checked"
              << std::endl;
  }

  // One rank is lost.
  void run_round(std::uint64_t seed, bool kills) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int ranks = static_cast<int>(2 + random() % 4);
    const int lost = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const auto moment = static_cast<unsigned>(random() % (kills ? 20'000 : 300));
    Ends ends(ranks);
    const auto live = [&](Comm& comm) {
      ends.note(comm.rank(), Ends::begun);
      const bool mine = comm.rank() == lost;
      if (mine && kills) {
        std::thread([moment] {
          usleep(moment);
          kill(getpid(), SIGKILL);
        }).detach();
      }
      unsigned calls = 0;
      const auto note = [&](Ends::End end, const std::string& text = "") {
        ends.note(comm.rank(), end, calls, text);
      };
      try {
        RandomCollectives collectives(comm, seed, [&] {
          if (++calls > moment && mine && !kills) throw std::runtime_error("of the user");
        });
        collectives.run(1 << 30);
      } catch (const core::LostError&) {
        if (mine || !is_lost_again(comm)) return note(Ends::wrong, "a later call did not throw");
        note(Ends::lost);
      } catch (const core::Error& error) {
        note(Ends::wrong, error.what());
        throw;
      }
    };
    EXPECT_THROW(run(ranks, live), core::Error);
    for (int rank = 0; rank < ranks; ++rank) {
      // It may be lost before others begin. One that has begun and did not come to its end was
      // killed because it did not answer.
      if (rank == lost || ends.end(rank) == Ends::none) continue;
      EXPECT_EQ(ends.end(rank), Ends::lost) << "rank " << rank << ": " << ends.text(rank);
    }
    checked_ += ends.checked();
  }

  static bool is_lost_again(Comm& comm) {
    try {
      all_reduce(comm, 1, Operation::sum);
    } catch (const core::LostError&) {
      return true;
    }
    return false;
  }

  void run_rounds(bool kills) {
    const std::uint64_t rounds = from_environment("TABANE_COLLECTIVES_ROUNDS", 60);
    for (std::uint64_t i = 0; i < rounds && !HasFailure(); ++i) run_round(seed_ + i, kills);
  }

  std::uint64_t seed_ = from_environment("TABANE_COLLECTIVES_SEED", std::random_device()());
  std::uint64_t checked_ = 0;
};

TEST_F(RandomCollectivesLosses, AreRightOrLostWhereARankThrows) { run_rounds(false); }

#if defined(TABANE_RANKS_ARE_ON_SHM) && !defined(TABANE_RANKS_ARE_THREADS)
TEST_F(RandomCollectivesLosses, AreRightOrLostWhereARankIsKilled) { run_rounds(true); }
#endif

}  // namespace
}  // namespace tabane::comm
