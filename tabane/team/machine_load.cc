#include "tabane/team/machine_load.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tabane/core/placement.h"

namespace tabane::team {
namespace {

using Situation = std::tuple<int, int, int>;

ShapeLoad work_out(const core::Topology& topology, Shape shape) {
  const core::Placement plan = core::plan_placement(topology, core::PlacementPolicy::per_numa_node,
                                                    shape.processes, shape.threads);
  std::unordered_map<unsigned, const core::Pu*> pu_of;
  for (const core::Pu& pu : topology.pus()) pu_of.emplace(pu.os_index, &pu);

  std::unordered_map<unsigned, int> on_pu, pus_of_core;
  std::vector<int> spanned;
  std::set<unsigned> nodes;
  for (const core::WorkerPlace& place : plan.places) {
    if (place.worker == 0) nodes.clear();
    const core::Pu& pu = *pu_of.at(place.pus.front());
    if (on_pu[pu.os_index]++ == 0) ++pus_of_core[pu.core];
    nodes.insert(pu.numa_node);
    if (place.worker + 1 == shape.threads) spanned.push_back(static_cast<int>(nodes.size()));
  }

  std::map<unsigned, std::map<Situation, int>> by_node;
  std::map<unsigned, std::set<unsigned>> cores_of_node;
  for (const core::WorkerPlace& place : plan.places) {
    const core::Pu& pu = *pu_of.at(place.pus.front());
    ++by_node[pu.numa_node][{on_pu[pu.os_index], pus_of_core[pu.core],
                             spanned[static_cast<std::size_t>(place.process)]}];
    cores_of_node[pu.numa_node].insert(pu.core);
  }

  std::map<std::pair<std::map<Situation, int>, int>, int> alike;
  for (const auto& [node, groups] : by_node) {
    ++alike[{groups, static_cast<int>(cores_of_node[node].size())}];
  }
  ShapeLoad load;
  for (const auto& [look, count] : alike) {
    NodeLoad node{.nodes = count, .cores_active = look.second, .groups = {}};
    for (const auto& [situation, workers] : look.first) {
      const auto& [pu, core, span] = situation;
      node.groups.push_back(
          {.count = workers, .on_pu = pu, .pus_of_core = core, .nodes_spanned = span});
    }
    load.push_back(std::move(node));
  }
  return load;
}

}  // namespace

Machine::Machine(const core::Topology& topology) : topology_(topology) {
  std::map<unsigned, std::pair<int, std::set<unsigned>>> nodes;
  std::set<unsigned> cores;
  for (const core::Pu& pu : topology.pus()) {
    auto& [pus, node_cores] = nodes[pu.numa_node];
    ++pus;
    node_cores.insert(pu.core);
    cores.insert(pu.core);
  }
  pus_ = static_cast<int>(topology.pus().size());
  cores_ = static_cast<int>(cores.size());
  nodes_ = static_cast<int>(nodes.size());
  for (const auto& [index, node] : nodes) {
    node_pus_ = std::max(node_pus_, node.first);
    node_cores_ = std::max(node_cores_, static_cast<int>(node.second.size()));
  }
}

const ShapeLoad& Machine::load(Shape shape) {
  const auto found = loads_.find(shape);
  if (found != loads_.end()) return found->second;
  return loads_.emplace(shape, work_out(topology_, shape)).first->second;
}

}  // namespace tabane::team
