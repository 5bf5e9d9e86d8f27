// What the system's own files tell of the topology, and what follows where hwloc says otherwise or
// less: the PUs of each NUMA node, and the kinds of cores in one machine, put into words.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tabane/core/system_files.h"
#include "tabane/core/topology.h"

namespace tabane::core {

using NodeLists = std::map<unsigned, std::vector<unsigned>>;  // os_index of a node -> of its PUs

// Reads /sys/devices/system/node/node*/cpulist. Empty where the system has no such lists.
NodeLists read_node_lists(const SystemFiles& files);

// hwloc cannot place a node that crosses packages and then gives all PUs to the first node. Gives
// every PU the node that lists it, where that node is among `nodes`. Returns what was wrong
// as one sentence; empty: nothing.
std::string correct_nodes(std::vector<Pu>& pus, const std::vector<NumaNode>& nodes,
                          const NodeLists& lists);

// One of hwloc's kinds, which come slowest first. 0 or empty: not known.
struct DescribedKind {
  std::vector<unsigned> pus;
  std::string core_type = {};  // "IntelCore"
  double max_mhz = 0;
  double capacity = 0;  // the kernel's measure of speed; 1024 is the fastest
};

// Reads the lists of the kernel's counters on processors with two kinds of cores, such as
// /sys/devices/cpu_core/cpus; fastest first. Empty on others.
std::vector<CpuKind> read_cpu_kinds(const SystemFiles& files);

// Fastest first. Kinds whose speeds differ by less than a tenth are one: cores that may run a
// little faster than others are no kind of their own.
std::vector<CpuKind> name_kinds(std::vector<DescribedKind> described);

// Leaves out PUs that are not usable. Empty if fewer than two kinds are left.
std::vector<CpuKind> usable_kinds(std::vector<CpuKind> kinds, const std::vector<Pu>& pus);

}  // namespace tabane::core
