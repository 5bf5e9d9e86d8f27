// What `tabane run` would do: decided without touching the process, so that it can be shown and
// tested.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tabane/cli/allocator.h"
#include "tabane/core/memory.h"
#include "tabane/core/placement.h"
#include "tabane/core/topology.h"

namespace tabane::cli {

struct RunRequest {
  std::optional<std::string> cpus = std::nullopt;
  std::optional<std::string> membind = std::nullopt;  // at most one of these three
  std::optional<std::string> interleave = std::nullopt;
  bool localalloc = false;
  std::optional<std::string> placement = std::nullopt;
  std::optional<int> threads = std::nullopt;
  bool huge_pages = false;
  std::optional<std::string> allocator = std::nullopt;
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
// of CPUs chosen with -c or usable. The process is bound to all of -c, or else to its threads' PUs.
// Variables that the user has set are kept.
// huge_pages_granted: the system gives transparent huge pages on request.
// throws: UsageError that names the option, the usable CPUs or nodes, and what limits them.
RunPlan plan_run(const RunRequest& request, const core::Topology& topology,
                 const Lookup& environment, bool huge_pages_granted);

// Draws the binding map: machine, threads, memory, environment, warnings.
std::string describe(const RunPlan& plan, const core::Topology& topology);

}  // namespace tabane::cli
