// Random collectives between ranks, one of which may be killed or throw at a random moment: results
// are right or the call throws LostError, and all come to their end.
// TABANE_COLLECTIVES_ROUNDS and TABANE_COLLECTIVES_SEED run them for longer, or again.
#include "tabane/comm/random_collectives_test.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iostream>
#include <thread>

#include "tabane/team/shared_block.h"

namespace tabane::comm {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread sets nothing
  return text == nullptr ? otherwise : std::stoull(text);
}

// How each rank ended, seen by who launched them.
struct End {
  enum How { none, begun, lost, wrong };
  std::atomic<How> how;
  std::uint64_t checked;
  char text[240];
};

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
    team::SharedBlock block(static_cast<std::size_t>(ranks) * sizeof(End), "test");
    auto* const ends = reinterpret_cast<End*>(block.data());
    const auto live = [&](Comm& comm) {
      End& end = ends[comm.rank()];
      end.how = End::begun;
      const bool mine = comm.rank() == lost;
      if (mine && kills) {
        std::thread([moment] {
          usleep(moment);
          kill(getpid(), SIGKILL);
        }).detach();
      }
      unsigned calls = 0;
      try {
        RandomCollectives collectives(comm, seed, [&] {
          if (mine && !kills && ++calls > moment) throw std::runtime_error("of the user");
          ++end.checked;
        });
        collectives.run(1 << 30);
      } catch (const core::LostError&) {
        const bool again = !mine && is_lost_again(comm);
        end.how = again ? End::lost : End::wrong;
        if (!again) std::strncpy(end.text, "a later call did not throw", sizeof end.text - 1);
      } catch (const core::Error& error) {
        std::strncpy(end.text, error.what(), sizeof end.text - 1);
        end.how = End::wrong;
        throw;
      }
    };
    EXPECT_THROW(run(ranks, live), core::Error);
    for (int rank = 0; rank < ranks; ++rank) {
      checked_ += ends[rank].checked;
      // It may be lost before others begin. One that has begun and did not come to its end was
      // killed because it did not answer.
      if (rank == lost || ends[rank].how == End::none) continue;
      EXPECT_EQ(ends[rank].how, End::lost) << "rank " << rank << ": " << ends[rank].text;
    }
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
