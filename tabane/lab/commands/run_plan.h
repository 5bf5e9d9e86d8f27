// Memory allocators that can be put under a program without building it anew.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/placement.h"
#include "tabane/core/system_files.h"
#include "tabane/core/topology.h"

namespace tabane::program {

// Value of an environment variable; null: not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

struct Assignment {
  std::string name;
  std::string value;
  bool kept = false;  // the user had set it: value is the user's and stays
};

// The directories that the dynamic linker searches, most preferred first.
std::vector<std::string> library_directories(const Lookup& environment);

// Returns the path of the library of jemalloc, mimalloc or tcmalloc; empty for glibc.
// throws: UsageError with the legal names, or with the Debian package to install.
std::string find_allocator(const std::string& name, const std::vector<std::string>& directories);

// What to set so that the allocator ("" means glibc) asks for transparent huge pages, added to what
// the user has set. Null: it has no such switch.
std::optional<Assignment> huge_page_switch(const std::string& name, const Lookup& environment);

// What `tabane run` would do: decided without touching the process, so that it can be shown and
// tested.

struct RunRequest {
  std::optional<std::string> cpus = std::nullopt;
  std::optional<std::string> membind = std::nullopt;  // at most one of these four
  std::optional<std::string> interleave = std::nullopt;
  std::optional<std::string> preferred = std::nullopt;
  bool localalloc = false;
  std::optional<std::string> placement = std::nullopt;
  std::optional<int> threads = std::nullopt;
  bool huge_pages = false;
  std::optional<std::string> allocator = std::nullopt;
  // This process among several that share the chosen CPUs.
  int process = 0, processes = 1;
  bool own_threads = false;        // the command takes its number of threads itself
  bool force_environment = false;  // replaces variables that the user has set, too
};

struct RunPlan {
  core::Placement placement;   // one process
  std::vector<unsigned> cpus;  // the process is bound to these; empty: it is not bound
  std::optional<core::MemoryOptions> memory;  // null: left as it is
  std::string preload;                        // path of the allocator; empty: none
  std::vector<Assignment> environment;
  std::vector<std::string> warnings;
};

// Plans the request. The number of threads is -t, else the user's OMP_NUM_THREADS, else the number
// of CPUs chosen with -c or usable, shared among the processes. The process is bound to all of -c,
// or else to its threads' PUs. Variables that the user has set are kept unless the request forces
// its own. huge_pages_granted: the system gives transparent huge pages on request. throws:
// UsageError that names the option, the usable CPUs or nodes, and what limits them.
RunPlan plan_run(const RunRequest& request, const core::Topology& topology,
                 const Lookup& environment, bool huge_pages_granted);

// The variables from which programs take their number of threads.
std::span<const char* const> thread_variables();

// Reads "2/6": the process of this index, from 0, of this number; or "launcher": as the launcher of
// this process (Open MPI, MPICH, Intel MPI, Slurm) says in the environment.
// throws: core::UsageError.
void parse_part(const std::string& text, const Lookup& environment, RunRequest& request);

// Says in two lines where the threads run, and how many variables are set; then the warnings.
std::string summary(const RunPlan& plan, const core::Topology& topology);
// Draws the binding map: machine, threads, memory, environment, warnings.
std::string describe(const RunPlan& plan, const core::Topology& topology);

// Lists the NUMA nodes with their CPUs, memory, free memory and distances. files: of the machine.
std::string hardware_text(const core::Topology& topology, const core::SystemFiles& files);

}  // namespace tabane::program
