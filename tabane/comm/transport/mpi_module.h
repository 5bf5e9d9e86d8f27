// The transport over MPI, which is a module that is loaded when it is needed: so the program starts
// on a machine without MPI.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tabane/comm/transport/transport.h"
#include "tabane/core/error.h"

namespace tabane::comm {

// Of all ranks that MPI has started: each of them opens it.
class MpiWorld : public Transport {
 public:
  // Waits until all ranks have returned, which is what this one does. throws: core::LostError if
  // one fails instead.
  virtual void close() = 0;
  // Tells the other ranks that this one has failed, unless one had before; waits for that up to a
  // second. Deleting the transport does not wait then. loss: what it has thrown, which the others
  // throw as it is; null: it has failed by itself.
  virtual void fail(const std::string& how, const core::LostError* loss = nullptr) = 0;

 protected:
  using Transport::Transport;
};

// What the module offers. tabane's version, which must be that of the program.
extern "C" const char tabane_mpi_version[];
// The first world starts MPI, the end of the process ends it.
// throws: core::Error.
// silence_limit_s: see LaunchOptions; 0: none.
extern "C" MpiWorld* tabane_mpi_open(double silence_limit_s);

// What has started this process as one of several.
struct MpiLauncher {
  std::string variable;              // of the environment: "OMPI_COMM_WORLD_SIZE"
  int ranks = 0;                     // 0: it does not say
  std::vector<std::string> modules;  // that speak with it, the likeliest first
  int ranks_here = 0;                // on this host, under SLURM rank 0's; 0: it does not say
};
// Empty: no MPI launcher. A job's shell under SLURM is none, what srun starts there is one.
std::optional<MpiLauncher> mpi_launcher();

// What is wrong, and what to do, if Slurm or Flux has started this process as one of several tasks
// and no MPI connects them; else empty. LSF and PBS do not say how many tasks there are.
std::string complaint_about_task();

// The first call loads the module and starts MPI. The module is looked for in the directory
// $TABANE_MPI_MODULE or, if that is not set, where module_directory() says; there only if nobody
// else can write to it. A world that is neither closed nor failed when it is deleted is closed.
// throws: core::UsageError if there is none, or it is of another version or not of the MPI that
// started this process, or nothing has started it and it has not started MPI itself.
std::unique_ptr<MpiWorld> open_mpi_world(double silence_limit_s);
// Returns the limit that was given, or the one in $TABANE_SILENCE_LIMIT, or 30. throws:
// core::UsageError if it is no number of seconds.
double silence_limit(std::optional<double> given);

}  // namespace tabane::comm
