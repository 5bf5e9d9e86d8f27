// The system's own lists of the PUs of each NUMA node, and what follows where hwloc contradicts
// them: it cannot place a node that crosses packages and then gives all PUs to the first node.
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

// Gives every PU the node that lists it, where that node is among `nodes`. Returns what was wrong
// as one sentence; empty: nothing.
std::string correct_nodes(std::vector<Pu>& pus, const std::vector<NumaNode>& nodes,
                          const NodeLists& lists);

}  // namespace tabane::core
