#include "tabane/program/several_ranks.h"

#include <unistd.h>

#include <exception>
#include <optional>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"

namespace tabane::program {

int on_ranks(const std::function<int(comm::Comm* ranks, bool& lost)>& rank_0,
             const std::function<void(comm::Comm& ranks)>& other) {
  bool lost = false;
  if (!comm::is_one_of_several()) return rank_0(nullptr, lost);
  std::optional<int> code;
  std::exception_ptr problem;  // of rank 0: to launch() it would be the loss of a rank
  bool helped = false;
  try {
    comm::launch({.transport = comm::TransportKind::mpi}, [&](comm::Comm& world) {
      helped = world.rank() > 0;
      if (helped) return other(world);
      try {
        code = rank_0(world.size() > 1 ? &world : nullptr, lost);
      } catch (...) {
        problem = std::current_exception();
      }
      // Nobody waits for the others then.
      if (lost) throw core::LostError(0, ::getpid(), "a rank was lost");
    });
  } catch (const core::LostError&) {
    if (!code && !problem && !helped) throw;
  }
  if (problem) std::rethrow_exception(problem);
  return code.value_or(0);
}

}  // namespace tabane::program
