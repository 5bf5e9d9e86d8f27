// Ranks of a world for tests: forked children, one a rank; or threads.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <vector>

#include "tabane/comm/transport/shm/world.h"
#ifdef TABANE_RANKS_ARE_THREADS
#include "tabane/comm/transport/shm/threaded_ranks_test.h"
#else
#include "tabane/team/fork.h"
#endif

namespace tabane::comm::shm {

#ifdef TABANE_RANKS_ARE_THREADS
template <class F>
void run_ranks(World& world, F f) {
  on_threads(world, [&](int rank) {
    world.enter(rank);
    EXPECT_TRUE(f(rank)) << "rank " << rank;
    world.leave(rank);
  });
}
#else
// Forks the ranks of `world`; each enters, calls f(rank), which says whether all is well, and
// leaves. Returns their pids.
template <class F>
std::vector<pid_t> fork_ranks(World& world, F f) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    children.push_back(team::fork_child([&world, &f, rank] {
      world.enter(rank);
      const bool good = f(rank);
      world.leave(rank);
      return good ? 0 : 1;
    }));
  }
  return children;
}

// Expects f to return true on all ranks.
template <class F>
void run_ranks(World& world, F f) {
  const std::vector<pid_t> children = fork_ranks(world, f);
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    EXPECT_EQ(team::wait_for_child(children[rank]), 0) << "rank " << rank;
  }
}
#endif

}  // namespace tabane::comm::shm
