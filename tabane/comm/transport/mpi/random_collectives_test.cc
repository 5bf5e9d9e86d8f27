// Under an MPI launcher: random collectives on random groups, in one launch after the other. Exits
// with 1, and says why, if a result is wrong. With "throw": in launches in each of which a rank
// throws, until no other is possible; ranks that are told of it say so. Then MPI cannot end, and
// its launcher, which ends all ranks when the first has ended without MPI_Finalize, complains.
//
// usage: mpirun -n RANKS tabane_mpi_collectives [throw]. TABANE_COLLECTIVES_ROUNDS and
// TABANE_COLLECTIVES_SEED run it for longer, or again: the seed must be the same on all ranks.
#include "tabane/comm/random_collectives_test.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tabane/comm/ends_test.h"
#include "tabane/comm/launch.h"

namespace tabane::comm {
namespace {

int run_all() {
  const std::uint64_t rounds = from_environment("TABANE_COLLECTIVES_ROUNDS", 20);
  const std::uint64_t first = from_environment("TABANE_COLLECTIVES_SEED", 12);
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    try {
      launch({.transport = TransportKind::mpi},
             [&](Comm& comm) { RandomCollectives(comm, seed).run(200); });
    } catch (const std::exception& error) {
      fmt::print(stderr, "random_collectives_test, seed {}: {}\n", seed, error.what());
      return 1;
    }
  }
  return 0;
}

// Returns whether another launch is possible.
bool launch_throw(std::uint64_t seed, bool& told) {
  bool throws = false;
  try {
    launch({.transport = TransportKind::mpi}, [&](Comm& comm) {
      throws = comm.rank() == static_cast<int>(seed % static_cast<std::uint64_t>(comm.size()));
      auto calls = static_cast<int>(seed * 37 % 101);
      RandomCollectives(comm, seed, [&] {
        if (throws && calls-- == 0) throw std::runtime_error("on purpose");
      }).run(1 << 30);
    });
  } catch (const core::LostError& error) {
    fmt::print("seed {}: told of it: {}\n", seed, error.what());
    told = true;
  } catch (const core::Error& error) {
    if (std::string_view(error.what()).find("no other launch") != std::string_view::npos) {
      return false;
    }
    fmt::print("seed {}: {}: {}\n", seed, throws ? "threw" : "wrong", error.what());
  }
  return true;
}

void run_throws() {
  const std::uint64_t rounds = from_environment("TABANE_COLLECTIVES_ROUNDS", 20);
  const std::uint64_t first = from_environment("TABANE_COLLECTIVES_SEED", 12);
  bool told = false;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    if (!launch_throw(seed, told)) break;
  }
  std::fflush(stdout);
  // A rank that was told ends first: the launcher then ends the others.
  std::this_thread::sleep_for(std::chrono::seconds(told ? 2 : 30));
  std::_Exit(0);
}

}  // namespace
}  // namespace tabane::comm

int main(int count, char** arguments) {
  if (std::string_view(arguments[count - 1]) == "throw") tabane::comm::run_throws();
  return tabane::comm::run_all();
}
