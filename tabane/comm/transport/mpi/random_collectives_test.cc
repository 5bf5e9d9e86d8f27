// Under an MPI launcher: random collectives on random groups, in one launch after the other. Exits
// with 1, and says why, if a result is wrong.
//
// usage: mpirun -n RANKS tabane_mpi_collectives. TABANE_COLLECTIVES_ROUNDS and
// TABANE_COLLECTIVES_SEED run it for longer, or again: the seed must be the same on all ranks.
#include "tabane/comm/random_collectives_test.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>

#include "tabane/comm/launch.h"

namespace tabane::comm {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread sets nothing
  return text == nullptr ? otherwise : std::stoull(text);
}

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

}  // namespace
}  // namespace tabane::comm

int main() { return tabane::comm::run_all(); }
