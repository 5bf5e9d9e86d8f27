#include "tabane/team/places.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"

namespace tabane::team {
namespace {

struct MachineMemo {
  std::mutex mutex;
  std::vector<unsigned> binding;
  std::optional<core::Topology> topology;
  int busy_pus = 1;
  using Request = std::tuple<core::PlacementPolicy, int, int>;
  std::optional<Request> request;
  core::Placement plan;
};

MachineMemo& memo() {
  static MachineMemo one;
  return one;
}

const core::Topology& read_again_if_changed(MachineMemo& now) {
  std::vector<unsigned> binding = core::thread_binding();
  if (!now.topology || binding != now.binding) {
    now.request.reset();
    now.topology = core::Topology::detect();
    now.busy_pus = core::busy_pus_within(core::read_cgroup_limits(core::SystemFiles()),
                                         static_cast<int>(now.topology->pus().size()));
    now.binding = std::move(binding);
  }
  return *now.topology;
}

}  // namespace

std::string text_of(Shape shape) {
  return std::to_string(shape.processes) + " × " + std::to_string(shape.threads);
}

core::Topology known_topology() {
  MachineMemo& now = memo();
  const std::lock_guard lock(now.mutex);
  return read_again_if_changed(now);
}

int busy_pus() {
  MachineMemo& now = memo();
  const std::lock_guard lock(now.mutex);
  read_again_if_changed(now);
  return now.busy_pus;
}

core::Placement plan_places(core::PlacementPolicy policy, int processes, int threads) {
  MachineMemo& now = memo();
  const std::lock_guard lock(now.mutex);
  const core::Topology& topology = read_again_if_changed(now);
  const MachineMemo::Request request{policy, processes, threads};
  if (now.request != request) {
    now.plan = core::plan_placement(
        topology, topology.is_this_machine() ? policy : core::PlacementPolicy::none, processes,
        threads);
    now.request = request;
  }
  return now.plan;
}

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
  for (const core::WorkerPlace& place : plan.places) {
    const core::Pu& pu = *pu_of.at(place.pus.front());
    ++by_node[pu.numa_node][{on_pu[pu.os_index], pus_of_core[pu.core],
                             spanned[static_cast<std::size_t>(place.process)]}];
  }

  std::map<std::map<Situation, int>, int> alike;
  for (const auto& [node, groups] : by_node) ++alike[groups];
  ShapeLoad load;
  for (const auto& [groups, count] : alike) {
    NodeLoad node{.nodes = count, .groups = {}};
    for (const auto& [situation, workers] : groups) {
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

namespace {

std::set<int> natural_counts(const Machine& machine, std::size_t n, int most) {
  std::set<int> counts;
  for (long step = 1; step <= most; step *= 2) {
    counts.insert(static_cast<int>(step));
    if (step > 1) counts.insert(static_cast<int>(step + step / 2));
  }
  for (int k = 1; k <= machine.nodes(); ++k) {
    counts.insert({k * machine.node_cores(), k * machine.node_pus()});
  }
  if (n <= static_cast<std::size_t>(most) * 8) {
    const int tasks = static_cast<int>(n);
    for (int rounds = 1; rounds <= 8; ++rounds) counts.insert((tasks + rounds - 1) / rounds);
  }
  counts.insert(
      {machine.node_pus() + 1, machine.cores(), machine.cores() + 1, machine.pus(), most});
  std::erase_if(counts, [&](int count) { return count < 1 || count > most; });
  return counts;
}

}  // namespace

std::vector<Shape> candidate_shapes(const Machine& machine, std::size_t n, int most_workers,
                                    int most_processes) {
  std::set<Shape> shapes;
  const auto add = [&](int processes, int threads) {
    if (processes < 1 || threads < 1 || processes > most_processes) return;
    if (static_cast<long>(processes) * threads <= most_workers) shapes.insert({processes, threads});
  };
  const std::set<int> counts = natural_counts(machine, n, most_workers);
  for (const int threads : counts) {
    for (const int workers : counts) add(workers / threads, threads);
    for (const int per_node : {machine.node_cores(), machine.node_pus()}) {
      for (int nodes = 1; nodes <= machine.nodes(); ++nodes)
        add(nodes * (per_node / threads), threads);
    }
    add(most_processes, threads);
  }
  for (const int processes : counts) {
    for (const int workers : counts) add(processes, workers / processes);
  }
  return {shapes.begin(), shapes.end()};
}

std::vector<Shape> shapes_near(Shape shape, int most_workers, int most_processes) {
  std::set<Shape> shapes;
  const int step = std::max(1, shape.processes / 16);
  for (int p = -2; p <= 2; ++p) {
    for (int t = -1; t <= 1; ++t) {
      const Shape near{shape.processes + p * step, shape.threads + t};
      if (near.processes < 1 || near.processes > most_processes || near.threads < 1) continue;
      if (static_cast<long>(near.processes) * near.threads <= most_workers) shapes.insert(near);
    }
  }
  return {shapes.begin(), shapes.end()};
}

}  // namespace tabane::team
