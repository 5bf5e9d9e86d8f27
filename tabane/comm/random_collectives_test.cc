// Random collectives between ranks, one of which may be killed or throw at a random moment: results
// are right or the call throws LostError, and all come to their end.
// TABANE_COLLECTIVES_ROUNDS and TABANE_COLLECTIVES_SEED run them for longer, or again.
#include "tabane/comm/random_collectives_test.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <thread>

#include "tabane/comm/ends_test.h"

namespace tabane::comm {
namespace {

class RandomCollectivesOnRanks : public OnRanks {
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

TEST_P(RandomCollectivesOnRanks, GiveWhatTheyMust) {
  const std::uint64_t rounds = from_environment("TABANE_COLLECTIVES_ROUNDS", 60);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed_ + i));
    const int ranks = static_cast<int>(i % 6 + 1);
    run(ranks, [&](Comm& comm) { RandomCollectives(comm, seed_ + i).run(100); });
    checked_ += 100 * static_cast<std::uint64_t>(ranks);
  }
}

TEST_P(RandomCollectivesOnRanks, AreRightOrLostWhereARankThrows) { run_rounds(false); }

#ifdef TABANE_RANKS_ARE_FORKED
TEST_P(RandomCollectivesOnRanks, AreRightOrLostWhereARankIsKilled) { run_rounds(true); }
#endif

INSTANTIATE_TEST_SUITE_P(All, RandomCollectivesOnRanks, testing::ValuesIn(kRunners),
                         name_of_runner);

}  // namespace
}  // namespace tabane::comm
