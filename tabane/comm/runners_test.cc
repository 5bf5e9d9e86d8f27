#include "tabane/comm/runners_test.h"

#include <algorithm>
#include <optional>

#if defined(TABANE_RANKS_ARE_ON_SHM) && defined(TABANE_RANKS_ARE_THREADS)
#include "tabane/comm/transport/shm/threaded_ranks_test.h"
#elif !defined(TABANE_RANKS_ARE_ON_SHM) && !defined(TABANE_RANKS_ARE_MPI) && \
    !defined(TABANE_RANKS_ARE_SIMULATED)
#include "tabane/comm/transport/plain_transport_test.h"
#endif

namespace tabane::comm {

#if defined(TABANE_RANKS_ARE_MPI)

const bool kAreMpi = true;
const std::initializer_list<int> kWorlds{0};

void run(int ranks, const RankFunction& f, std::size_t) {
  run_all_of_mpi([&](Comm& world) {
    if (ranks > world.size()) GTEST_SKIP() << "MPI has fewer ranks";
    if (ranks == world.size()) return f(world);
    std::optional<Comm> group = world.split(world.rank() < ranks ? 0 : -1);
    if (group) f(*group);
  });
}

void run_each(std::initializer_list<int> numbers, const RankFunction& f) {
  run_all_of_mpi([&](Comm& world) {
    if (std::min(numbers) > world.size()) GTEST_SKIP() << "MPI has fewer ranks";
    f(world);
  });
}

#else

const bool kAreMpi = false;

#if defined(TABANE_RANKS_ARE_SIMULATED)
const std::initializer_list<int> kWorlds{1, 2, 3, 4, 7, 16};
void run(int ranks, const RankFunction& f, std::size_t) {
  // Looks for a message take long, so that tests which look again and again soon have it.
  launch({.ranks = ranks, .machine = "ap1000", .machine_changes = "byte=0.01,probe=50"}, f);
}
#elif !defined(TABANE_RANKS_ARE_ON_SHM)
const std::initializer_list<int> kWorlds{1, 2, 3, 5, 8};
void run(int ranks, const RankFunction& f, std::size_t) { run_plain(ranks, f); }
#elif defined(TABANE_RANKS_ARE_THREADS)
const std::initializer_list<int> kWorlds{1, 2, 3, 5, 8};
void run(int ranks, const RankFunction& f, std::size_t message_bytes) {
  shm::launch_on_threads(ranks, message_bytes, f);
}
#else
const std::initializer_list<int> kWorlds{1, 2, 3, 4, 7, 16};
void run(int ranks, const RankFunction& f, std::size_t message_bytes) {
  launch({.ranks = ranks, .transport = TransportKind::shm, .message_bytes = message_bytes}, f);
}
#endif

void run_each(std::initializer_list<int> numbers, const RankFunction& f) {
  for (const int ranks : numbers) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    run(ranks, f);
  }
}

#endif

}  // namespace tabane::comm
