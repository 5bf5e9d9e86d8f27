// Random messages, and random collectives, between ranks of which none is lost.
// TABANE_TRAFFIC_SEED, TABANE_COLLECTIVES_ROUNDS and _SEED run them for longer, or again.
#include <cstdint>
#include <string>

#include "tabane/comm/ends_test.h"
#include "tabane/comm/random_collectives_test.h"
#include "tabane/comm/random_traffic_test.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

TEST(RandomTraffic, BringsAllMessagesUnchanged) {
  const std::uint64_t seed = from_environment("TABANE_TRAFFIC_SEED", any_seed());
  SCOPED_TRACE("TABANE_TRAFFIC_SEED=" + std::to_string(seed));
  on_worlds([&](Comm& comm) { RandomTraffic(comm, seed).run(20); });
}

TEST(RandomCollectives, GiveWhatTheyMust) {
  std::uint64_t seed = from_environment("TABANE_COLLECTIVES_SEED", any_seed());
  const std::uint64_t rounds = from_environment("TABANE_COLLECTIVES_ROUNDS", kAreMpi ? 20 : 10);
  for (const std::uint64_t end = seed + rounds; seed < end; ++seed) {
    SCOPED_TRACE("TABANE_COLLECTIVES_SEED=" + std::to_string(seed));
    run_each({1, 2, 3, 4, 5, 6},
             [&](Comm& comm) { RandomCollectives(comm, seed).run(kAreMpi ? 200 : 100); });
  }
}

}  // namespace
}  // namespace tabane::comm
