// What random traffic meets when a rank is killed or throws at a random moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "tabane/comm/ends_test.h"
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

  void launch_ranks(const std::function<void(Comm&)>& f) const {
#if defined(TABANE_RANKS_ARE_FORKED)
    launch({.ranks = ranks, .transport = TransportKind::shm, .message_bytes = message_bytes}, f);
#elif defined(TABANE_RANKS_ARE_THREADS)
    shm::launch_on_threads(ranks, message_bytes, f);
#else
    run_plain(ranks, f);
#endif
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
    round.launch_ranks([&](Comm& comm) { round.live(comm, ends); });
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

class RandomTrafficOnRanks : public OnRanks {};

TEST_P(RandomTrafficOnRanks, BringsAllMessagesUnchanged) {
  const auto seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  for (const int ranks : {1, 2, 3, 5}) {
    run(ranks, [&](Comm& comm) { RandomTraffic(comm, seed).run(20); });
  }
}

TEST(RandomTraffic, BringsRightContentOrAnErrorWhereARankThrows) { run_rounds(false); }

#ifdef TABANE_RANKS_ARE_FORKED
TEST(RandomTraffic, BringsRightContentOrAnErrorWhereARankIsKilled) { run_rounds(true); }
#endif

INSTANTIATE_TEST_SUITE_P(All, RandomTrafficOnRanks, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
