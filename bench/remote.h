// Programs that work on request: a contender that needs a process of its own, without the memory
// and the threads of the others.
//
// A request is a line "VERB COUNT", a reply a line with one number; bench/served.h is the other
// side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.h"
#include "tabane/core/helper_process.h"

namespace tabane::bench {

class Remote {
 public:
  // Starts the program and waits until it is ready; its messages go to stderr.
  // within_seconds: how long at most; 0: as long as it takes.
  // throws: core::SystemError if it cannot be started; core::Error if it ends or takes too long.
  Remote(std::string name, const std::vector<std::string>& command, double within_seconds = 0);

  // Lets it work `count` times. throws: core::Error with its message if it fails or ends.
  std::uint64_t ask(std::string_view verb, std::uint64_t count = 1);

  // ask() in two steps, so that several programs work at once.
  void request(std::string_view verb, std::uint64_t count);
  std::uint64_t reply();
  // Waits for a reply, and returns whether one comes. Otherwise ends the program by SIGTERM.
  bool replies_within(double seconds);

  // ask() as work to measure. The remote outlives it. cost: two wake-ups per epoch.
  core::Work work(std::string verb);

 private:
  std::string name_;
  core::HelperProcess process_;
};

// Returns the path of a file that was built next to this program. throws: core::SystemError.
std::string beside_this_program(const std::string& name);

}  // namespace tabane::bench
