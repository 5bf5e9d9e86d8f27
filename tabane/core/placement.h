// Placement is the plan: which PU each worker of each process gets. Binding (binding.h) is the act.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/topology.h"

namespace tabane::core {

enum class PlacementPolicy {
  compact,        // fill neighbours: first PUs of a core, then the next core, package by package
  scatter,        // spread: packages in turn, cores in turn, second PUs of cores last
  per_numa_node,  // processes over NUMA nodes in turn; the workers of a process stay on its node
  none,           // bind nothing
};

// Reads "compact", "scatter", "numa" or "none". throws: UsageError with the legal values.
PlacementPolicy parse_placement_policy(std::string_view text);
std::string_view to_string(PlacementPolicy policy);

struct WorkerPlace {
  int process = 0;
  int worker = 0;             // inside the process
  std::vector<unsigned> pus;  // os indices it may run on; empty: anywhere
};

struct Placement {
  PlacementPolicy policy = PlacementPolicy::none;
  int processes = 1;
  int workers_per_process = 1;
  std::vector<WorkerPlace> places;  // process-major, processes * workers_per_process
  bool oversubscribed = false;      // more workers than PUs: some PU has several
  std::string remark;               // one sentence for the user; empty if there is nothing to say

  const WorkerPlace& at(int process, int worker) const {
    return places[static_cast<std::size_t>(process) *
                      static_cast<std::size_t>(workers_per_process) +
                  static_cast<std::size_t>(worker)];
  }
  // Union of a process's PUs, ascending.
  std::vector<unsigned> pus_of_process(int process) const;
};

// Plans processes × workers on the usable PUs by policy. With per_numa_node a process's workers
// share a node where they fit. Cores before second PUs of cores where the policy leaves a choice.
// throws: UsageError if processes or workers_per_process < 1 or their product exceeds 1 048 576.
Placement plan_placement(const Topology& topology, PlacementPolicy policy, int processes,
                         int workers_per_process);

// Plans them on an explicit list of os indices, in its order, going round when it is too short.
// throws: UsageError naming the usable list and what restricts it if an index is not usable.
Placement plan_placement(const Topology& topology, std::span<const unsigned> pus, int processes,
                         int workers_per_process);

}  // namespace tabane::core
