// Ranks on shared memory that are threads of this process: ThreadSanitizer follows no fork, and so
// sees of forked ranks only what each does by itself; QEMU cannot fork beside its own thread.
// Direct copies are made within the process, see threaded_ranks_test.cc, so that the former sees
// both of their sides, and the latter, which knows no such call, has them. A rank cannot be killed
// here, and must not abort the job: that kills the process.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/comm.h"
#include "tabane/comm/transport/shm/world.h"
#include "tabane/core/error.h"
#include "tabane/team/places.h"

namespace tabane::comm::shm {

// Calls f(rank) on one thread for each rank of `world`. Returns when all have ended.
template <class F>
void on_threads(World& world, F f) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world.ranks(); ++rank) threads.emplace_back([&f, rank] { f(rank); });
  for (std::thread& thread : threads) thread.join();
}

// Calls f on every rank, as launch() does on shm. throws: core::Error, or core::UsageError, with
// "rank R: " and what the rank that failed first threw.
inline void launch_on_threads(int ranks, std::size_t message_bytes,
                              const std::function<void(Comm&)>& f) {
  World world(plan_memory(ranks, message_bytes), team::busy_pus());
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  on_threads(world, [&](int rank) {
    world.enter(rank);
    std::string& text = thrown[static_cast<std::size_t>(rank)];
    // Outlives f's exception, as the memory of a process does.
    std::unique_ptr<Comm> comm;
    try {
      comm = std::make_unique<Comm>(make_shm_transport(world, rank, board_request(ranks)));
      f(*comm);
      comm.reset();
      return world.leave(rank);
    } catch (const core::UsageError& error) {
      world.tell_usage_error(rank);
      text = error.what();
    } catch (const std::exception& error) {
      text = error.what();
    }
    world.fail(rank, getpid(), "threw: " + text);
  });
  if (!world.failed()) return;
  const int rank = world.failed_rank();
  const std::string text =
      "rank " + std::to_string(rank) + ": " + thrown[static_cast<std::size_t>(rank)];
  if (world.failed_by_usage()) throw core::UsageError(text);
  throw core::Error(text);
}

}  // namespace tabane::comm::shm
