// For tests of messages: the ways to run ranks, and checks that work on any of them. A rank may be
// another process, so it tells what is wrong by an exception: the runner throws it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <source_location>
#include <string>

#include "tabane/comm/comm.h"
#include "tabane/comm/launch.h"
#if defined(TABANE_RANKS_ARE_THREADS)
#include "tabane/comm/transport/shm/threaded_ranks_test.h"
#elif !defined(TABANE_RANKS_ARE_FORKED)
#include "tabane/comm/transport/plain_transport_test.h"
#endif

namespace tabane::comm {

struct Runner {
  const char* name;
  void (*run)(int ranks, const std::function<void(Comm&)>& f);
};
inline std::ostream& operator<<(std::ostream& out, const Runner& runner) {
  return out << runner.name;
}

#if defined(TABANE_RANKS_ARE_FORKED)
inline void run_shm(int ranks, const std::function<void(Comm&)>& f) {
  launch({.ranks = ranks, .transport = TransportKind::shm}, f);
}
inline constexpr Runner kRunners[] = {{"shm", run_shm}};
#elif defined(TABANE_RANKS_ARE_THREADS)
inline void run_shm(int ranks, const std::function<void(Comm&)>& f) {
  shm::launch_on_threads(ranks, 0, f);
}
inline constexpr Runner kRunners[] = {{"shm", run_shm}};
#else  // in programs that ThreadSanitizer can look at
inline constexpr Runner kRunners[] = {{"plain", run_plain}};
#endif

// A test fixture: TEST_P(OnRanks, …) runs on all runners.
class OnRanks : public testing::TestWithParam<Runner> {
 protected:
  static void run(int ranks, const std::function<void(Comm&)>& f) { GetParam().run(ranks, f); }
};

inline std::string name_of_runner(const testing::TestParamInfo<Runner>& info) {
  return info.param.name;
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

}  // namespace tabane::comm
