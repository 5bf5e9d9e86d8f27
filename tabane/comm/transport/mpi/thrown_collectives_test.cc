// Under an MPI launcher: random collectives, in launches in each of which a rank throws, until no
// other is possible; ranks that are told of it say so. Then MPI cannot end, and its launcher, which
// ends all ranks when the first has ended without MPI_Finalize, complains: a test to be run alone.
// TABANE_COLLECTIVES_ROUNDS and TABANE_COLLECTIVES_SEED, the same on all ranks, run it for longer.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tabane/comm/ends_test.h"
#include "tabane/comm/random_collectives_test.h"

namespace tabane::comm {
namespace {

// Returns whether another launch is possible.
bool launch_throw(std::uint64_t seed, bool& told) {
  bool throws = false;
  try {
    run_all_of_mpi([&](Comm& comm) {
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

TEST(MpiThrows, DISABLED_EndRandomCollectives) {
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
