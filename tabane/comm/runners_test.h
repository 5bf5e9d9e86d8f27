// For tests on ranks. A file of them is compiled once, and linked with each way to run them, which
// runners_test.cc is compiled for: on the reference transport; on shared memory
// (TABANE_RANKS_ARE_ON_SHM), with ranks that are processes or, under ThreadSanitizer, threads; on a
// simulated machine (TABANE_RANKS_ARE_SIMULATED); and as the ranks of an MPI job
// (TABANE_RANKS_ARE_MPI), each of which runs all tests, in the same order. A rank may be another
// process, so it tells what is wrong by an exception, which run() throws.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <random>
#include <source_location>
#include <string>

#include "tabane/comm/collectives.h"
#include "tabane/comm/comm.h"
#include "tabane/comm/launch.h"

namespace tabane::comm {

using RankFunction = std::function<void(Comm&)>;

extern const bool kAreMpi;
extern const std::initializer_list<int> kWorlds;  // numbers of ranks

// Under MPI on the first ranks of the job; where it has fewer, the test counts as skipped.
// message_bytes: see LaunchOptions; the other transports take what they need.
void run(int ranks, const RankFunction& f, std::size_t message_bytes = 0);

// With each of these numbers of ranks; under MPI with as many as the job has, unless all are more.
void run_each(std::initializer_list<int> numbers, const RankFunction& f);

inline void run_all_of_mpi(const RankFunction& f) { launch({.transport = TransportKind::mpi}, f); }

// For a seed that the ranks need not agree on by messages.
inline std::uint64_t any_seed() { return kAreMpi ? 12 : std::random_device()(); }

// Many ranks take their time on few PUs: then tests send fewer messages.
inline bool saves_time(const Comm& world) {
#if defined(TABANE_RANKS_ARE_THREADS) || defined(__SANITIZE_ADDRESS__)
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
