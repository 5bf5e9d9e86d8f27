// For tests on ranks. A file of them is compiled once for each way to run them: on the reference
// transport; on shared memory, with ranks that are processes (TABANE_RANKS_ARE_FORKED) or, where
// ThreadSanitizer shall see them, threads (TABANE_RANKS_ARE_THREADS); and as the ranks of an MPI
// job (TABANE_RANKS_ARE_MPI), each of which runs all tests, in the same order. A rank may be
// another process, so it tells what is wrong by an exception, which run() throws.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <random>
#include <source_location>
#include <string>

#include "tabane/comm/collectives.h"
#include "tabane/comm/comm.h"
#include "tabane/comm/launch.h"
#if defined(TABANE_RANKS_ARE_THREADS)
#include "tabane/comm/transport/shm/threaded_ranks_test.h"
#elif !defined(TABANE_RANKS_ARE_FORKED) && !defined(TABANE_RANKS_ARE_MPI)
#include "tabane/comm/transport/plain_transport_test.h"
#endif

namespace tabane::comm {

using RankFunction = std::function<void(Comm&)>;

#if defined(TABANE_RANKS_ARE_MPI)

inline constexpr bool kAreMpi = true;
inline constexpr std::initializer_list<int> kWorlds{0};

inline void run_all_of_mpi(const RankFunction& f) { launch({.transport = TransportKind::mpi}, f); }

// On the first ranks of the job. Where it has fewer, the test counts as skipped.
inline void run(int ranks, const RankFunction& f) {
  run_all_of_mpi([&](Comm& world) {
    if (ranks > world.size()) GTEST_SKIP() << "MPI has fewer ranks";
    if (ranks == world.size()) return f(world);
    std::optional<Comm> group = world.split(world.rank() < ranks ? 0 : -1);
    if (group) f(*group);
  });
}

#else

inline constexpr bool kAreMpi = false;
#if defined(TABANE_RANKS_ARE_FORKED)
inline constexpr std::initializer_list<int> kWorlds{1, 2, 3, 4, 7, 16};
#else
inline constexpr std::initializer_list<int> kWorlds{1, 2, 3, 5, 8};
#endif

// message_bytes: see LaunchOptions; the reference transport takes what it needs.
inline void run(int ranks, const RankFunction& f, [[maybe_unused]] std::size_t message_bytes = 0) {
#if defined(TABANE_RANKS_ARE_FORKED)
  launch({.ranks = ranks, .transport = TransportKind::shm, .message_bytes = message_bytes}, f);
#elif defined(TABANE_RANKS_ARE_THREADS)
  shm::launch_on_threads(ranks, message_bytes, f);
#else
  run_plain(ranks, f);
#endif
}

#endif

// With each of these numbers of ranks; under MPI with as many as the job has, unless all are more.
inline void run_each(std::initializer_list<int> numbers, const RankFunction& f) {
#if defined(TABANE_RANKS_ARE_MPI)
  run_all_of_mpi([&](Comm& world) {
    if (std::min(numbers) > world.size()) GTEST_SKIP() << "MPI has fewer ranks";
    f(world);
  });
#else
  for (const int ranks : numbers) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    run(ranks, f);
  }
#endif
}

// For a seed that the ranks need not agree on by messages.
inline std::uint64_t any_seed() { return kAreMpi ? 12 : std::random_device()(); }

// Many ranks take their time on few PUs: then tests send fewer messages.
inline bool saves_time(const Comm& world) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return true;
#endif
  return kAreMpi || world.size() > 3;
}

inline void require(bool condition,
                    const std::source_location& at = std::source_location::current()) {
  if (!condition) {
    throw core::Error("what line " + std::to_string(at.line()) + " of the test wants is not so");
  }
}
template <class A, class B>
void require_equal(const A& a, const B& b,
                   const std::source_location& at = std::source_location::current()) {
  if (a == b) return;
  throw core::Error("line " + std::to_string(at.line()) + " of the test: " +
                    testing::PrintToString(a) + " is not " + testing::PrintToString(b));
}

inline void require_contains(const std::string& text, const std::string& part,
                             const std::source_location& at = std::source_location::current()) {
  if (text.find(part) != std::string::npos) return;
  throw core::Error("line " + std::to_string(at.line()) + " of the test: \"" + text +
                    "\" does not name " + part);
}

// Returns what() of the E that f must throw.
template <class E, class F>
std::string error_of(F&& f, const std::source_location& at = std::source_location::current()) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  throw core::Error("line " + std::to_string(at.line()) + " of the test: nothing was thrown");
}

// On worlds of few ranks and of many. Every message must have been taken when f has returned.
inline void on_worlds(const RankFunction& f) {
  run_each(kWorlds, [&](Comm& world) {
    Comm between = *world.split(0);  // so that f may take any message of the world
    f(world);
    barrier(between);
    require(!world.probe(any_source, any_tag));
  });
}

}  // namespace tabane::comm
