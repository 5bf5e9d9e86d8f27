// Starts ranks: under an MPI launcher (mpirun, srun) they are MPI's processes, otherwise forked
// here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
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
  // At most 4096, or what memory holds (1000 take 5 GB); 0: one per PU. Under MPI: as many as MPI
  // has; another number is an error.
  int ranks = 0;
  GridShape grid = {};  // if given, must fit the ranks; checked before anything starts
  TransportKind transport = TransportKind::automatic;
  core::PlacementPolicy placement = core::PlacementPolicy::per_numa_node;
  // The most shared memory for the messages of all ranks; 0: 1 MiB per pair of ranks, but no more
  // than 64 MiB.
  std::size_t message_bytes = 0;
  std::string choice_file = {};   // rules for the collectives' algorithms, see collective/choice.h
  std::string choice_rules = {};  // the same as text, if there is no file
  // Under MPI: how long another host may be silent; then the calls of all ranks throw
  // core::LostError, which names it. MPI itself may wait for ever where a link is cut. Each host
  // sends signs of life, also while its ranks compute. In seconds; 0: for ever; empty: what the
  // environment's TABANE_SILENCE_LIMIT says, or 30.
  std::optional<double> silence_limit_s = {};
  // Compares the ranks' collectives, see Comm::check_collectives(). TABANE_CHECK_COLLECTIVES=1 in
  // the environment does so too.
  bool check_collectives = false;
  // Called on each rank with its transport; the rank uses what it returns, such as a counted one.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> put_on_top = {};
  // A machine to simulate (tabane simulate lists them, or a file's name), perhaps with a shape:
  // "ap1000:16x16". Then the ranks take turns in the calling process, f sees and may change what
  // the caller has, and Comm::now() is the time that the machine would have taken. The number of
  // ranks is that of the shape, or gives the shape. transport, placement and message_bytes do not
  // matter.
  std::string machine = {};
  std::string machine_changes = {};  // "setup=0.5,hop=2": see docs/simulated-machine.md
  // Called with the plan before the ranks start, in the launching process (under MPI: on rank 0).
  std::function<void(const core::Placement&)> show_placement = {};
};

// Returns which transport `automatic` means here: mpi if an MPI launcher has started the process.
TransportKind detect_transport();

// What launch() makes of options before it starts anything: the transport, never automatic; and on
// shm the number of ranks.
TransportKind transport_of(const LaunchOptions& options);
int ranks_on_shm(const LaunchOptions& options);

// Whether an MPI launcher has started this process as one of several, or does not say that it is
// the only one.
bool is_one_of_several();

// For work that several tasks of Slurm or Flux would share. throws: core::UsageError with the
// remedy if this process is one of several and no MPI connects them: each would do all of it.
void require_connected_tasks();

// How many ranks an MPI launcher has started on this host (under SLURM: on that of rank 0), this
// process among them; those of all hosts where it tells only of these. 1: no launcher; null: it
// does not say.
std::optional<int> ranks_on_this_host();

// How long ranks are waited for that say nothing, in seconds: what TABANE_SILENCE_LIMIT in the
// environment says, or 30; 0: for ever. throws: core::UsageError if that is no number.
double default_silence_limit();

// Calls f on every rank and returns when all have returned. On shm the ranks are forked now: f sees
// what the caller has built, and what it changes is lost (see launch_result()). A single rank on
// shm runs in the calling process. Under MPI the process of every rank calls launch() with the same
// options, and MPI ends when the process exits.
// throws: core::LostError naming rank, pid and phase if a rank dies; what f threw on the rank that
// failed first, as core::Error with "rank R: ", or as core::UsageError if it was one; AbortError if
// a rank called abort() (under MPI its launcher ends all instead); core::UsageError if ranks or
// grid are impossible or memory does not hold the ranks, under an MPI launcher without the MPI
// module, or with transport mpi without a launcher; core::SystemError if memory or processes are
// refused. Then no rank and no shared memory is left. Under MPI the processes of the other ranks
// throw core::LostError naming the rank that failed first.
void launch(const LaunchOptions& options, const std::function<void(Comm&)>& f);

// The same, and returns what f returned on rank 0; empty in MPI's processes other than rank 0. R:
// as the result of a team's task (team/serialiser.h).
template <class R>
std::optional<R> launch_result(const LaunchOptions& options, const std::function<R(Comm&)>& f) {
  static_assert(team::Serialisable<R>, "R comes back as bytes: see tabane/team/serialiser.h");
  team::ReturnedResults returned(std::nullopt);
  returned.begin_run(1, true);
  launch(options, [&](Comm& comm) {
    const R result = f(comm);
    if (comm.rank() != 0) return;
    returned.put(0, 0, result);
    returned.flush(0);
  });
  std::optional<R> result;
  returned.take([&](std::size_t, team::Reader& in) { result.emplace(team::get_value<R>(in)); });
  return result;
}

}  // namespace tabane::comm
