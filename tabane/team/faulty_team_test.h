// For tests of teams in which something goes wrong.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "tabane/team/leftovers_test.h"
#include "tabane/team/team.h"

namespace tabane::team {

inline bool holds(const std::exception& error, const std::string& part) {
  return std::string(error.what()).find(part) != std::string::npos;
}

[[noreturn]] inline void wait_forever() {
  for (;;) pause();
}

// Sanitizers catch the signals of faults; a child without their handlers dies as any other.
[[noreturn]] inline void die_by(int signal_number) {
  signal(signal_number, SIG_DFL);
  raise(signal_number);
  wait_forever();
}

inline void expect_to_tell_the_task_that_throws(Team& team) {
  try {
    team.map<int>(100, [](std::size_t i) -> int {
      if (i == 17) throw std::runtime_error("no seventeen");
      return 0;
    });
    FAIL() << "nothing was thrown";
  } catch (const TaskError& error) {
    EXPECT_EQ(error.task(), 17u);
    EXPECT_STREQ(error.what(), "task 17 failed: no seventeen");
  }
}

class FaultyTeam : public LeavesNothing {
 protected:
  void TearDown() override {
    Team team({.processes = 3, .threads = 2});
    EXPECT_EQ(team.map_reduce<int>(
                  100, [](std::size_t) { return 1; }, 0, std::plus<>()),
              100)
        << "the next team does not work";
    LeavesNothing::TearDown();
  }
};

}  // namespace tabane::team
