// Starts ranks: under an MPI launcher (mpirun, srun) they are MPI's processes, otherwise forked
// here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "tabane/comm/comm.h"
#include "tabane/comm/grid.h"
#include "tabane/core/placement.h"
#include "tabane/team/result_file.h"
#include "tabane/team/serialiser.h"

namespace tabane::comm {

enum class TransportKind { automatic, shm, mpi };

struct LaunchOptions {
  int ranks =
      0;  // at most 4096; 0: one a PU; under MPI: as many as MPI has (another number is an error)
  GridShape grid = {};  // if given, must fit the ranks: checked before anything starts
  TransportKind transport = TransportKind::automatic;
  core::PlacementPolicy placement = core::PlacementPolicy::per_numa_node;
  // Of shared memory for messages, at most, all ranks together; 0: 1 MiB a pair of ranks, but no
  // more than 64 MiB.
  std::size_t message_bytes = 0;
  std::string choice_file = {};  // collectives' algorithms, see collective/choice.h
  // Gets the plan before the ranks start, from the launching process (rank 0 under MPI).
  std::function<void(const core::Placement&)> show_placement = {};
};

// Which transport `automatic` means here: mpi if the environment is that of an MPI launcher.
TransportKind detect_transport();

// Calls f on every rank and returns when all have returned. On shm, f sees the caller's data
// copy-on-write as in a team, and what it changes is lost: see launch_result(). With 1 rank on shm
// f runs in the calling process. throws: core::LostError naming rank, pid and phase if a rank dies;
// what f threw on the rank that failed first, as core::Error with "rank R: "; core::UsageError if
// ranks or grid cannot be, or under an MPI launcher without the MPI module; core::SystemError if
// memory or processes are refused. Then no rank and no shared memory is left.
// Under MPI every rank's process calls it, with the same options, and MPI ends when the process
// exits; processes of ranks that did not fail first throw core::LostError naming the one that did.
void launch(const LaunchOptions& options, const std::function<void(Comm&)>& f);

// The same, and returns what f returned on rank 0; nothing in MPI processes of other ranks. R: as
// the result of a task of a team (team/serialiser.h).
template <class R>
std::optional<R> launch_result(const LaunchOptions& options, const std::function<R(Comm&)>& f) {
  static_assert(team::Serialisable<R>, "R comes back as bytes: see tabane/team/serialiser.h");
  team::ResultFile file(team::most_result_bytes({}));
  launch(options, [&](Comm& comm) {
    const R result = f(comm);
    if (comm.rank() != 0) return;
    team::ResultWriter writer;
    writer.put(file, 0, result);
    writer.flush(file);
  });
  const std::span<const std::byte> bytes = file.read(1)[0];
  if (bytes.data() == nullptr) return {};
  team::Reader in(bytes);
  return team::get_value<R>(in);
}

}  // namespace tabane::comm
