#include "tabane/core/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"

namespace tabane::core {
namespace {

constexpr long long kMostWorkers = 1'048'576;

void check_counts(int processes, int workers) {
  if (processes >= 1 && workers >= 1 && static_cast<long long>(processes) * workers <= kMostWorkers)
    return;
  throw UsageError(
      "{} x {} workers (processes x threads) cannot be placed: both must be at least 1 and their "
      "product at most {}",
      processes, workers, kMostWorkers);
}

Placement empty_plan(PlacementPolicy policy, int processes, int workers, std::size_t pus) {
  check_counts(processes, workers);
  Placement plan;
  plan.policy = policy;
  plan.processes = processes;
  plan.workers_per_process = workers;
  for (int p = 0; p < processes; ++p)
    for (int w = 0; w < workers; ++w) plan.places.push_back({.process = p, .worker = w, .pus = {}});
  plan.oversubscribed = plan.places.size() > pus;
  if (plan.oversubscribed) {
    plan.remark = std::to_string(plan.places.size()) + " workers share " + std::to_string(pus) +
                  (pus == 1 ? " PU" : " PUs") + ": they take turns.";
  }
  return plan;
}

void deal(Placement& plan, std::span<const unsigned> order) {
  for (std::size_t i = 0; i < plan.places.size(); ++i)
    plan.places[i].pus = {order[i % order.size()]};
}

// Orders PUs so that the first k of them are spread as widely as k can be: every level of the
// machine is taken in turn, and the second PU of any core after the first PU of every core.
std::vector<unsigned> scattered(const Topology& topology) {
  using Path = std::vector<unsigned>;
  std::map<Path, std::set<unsigned>> children;
  const auto path_of = [](const Pu& pu) {
    return Path{pu.package, pu.numa_node, pu.last_level_cache, pu.core};
  };
  for (const Pu& pu : topology.pus()) {
    Path parent;
    for (const unsigned step : path_of(pu)) {
      children[parent].insert(step);
      parent.push_back(step);
    }
  }
  std::vector<std::pair<Path, unsigned>> keyed;
  for (const Pu& pu : topology.pus()) {
    Path parent;
    Path ranks;
    for (const unsigned step : path_of(pu)) {
      const std::set<unsigned>& siblings = children[parent];
      ranks.push_back(static_cast<unsigned>(std::distance(siblings.begin(), siblings.find(step))));
      parent.push_back(step);
    }
    ranks.push_back(pu.smt);
    std::ranges::reverse(ranks);
    keyed.emplace_back(std::move(ranks), pu.os_index);
  }
  std::ranges::sort(keyed);
  std::vector<unsigned> order;
  for (const auto& [ranks, os_index] : keyed) order.push_back(os_index);
  return order;
}

// Hands out PUs node by node, each node's cores before the second PUs of its cores.
class NodeDealer {
 public:
  explicit NodeDealer(const Topology& topology) {
    std::map<unsigned, std::vector<Pu>> by_node;
    for (const Pu& pu : topology.pus()) by_node[pu.numa_node].push_back(pu);
    for (auto& [node, pus] : by_node) {
      std::ranges::stable_sort(pus, [](const Pu& a, const Pu& b) { return a.smt < b.smt; });
      nodes_.push_back({.pus = std::move(pus), .used = 0});
    }
  }

  // Gives a process PUs of one node: of the first in turn that has enough, unused ones unless they
  // are shared. Empty: none has.
  std::vector<unsigned> on_one_node(std::size_t process, std::size_t workers, bool shared) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[(process + i) % nodes_.size()];
      if ((shared ? node.pus.size() : node.unused()) >= workers) return node.take(workers);
    }
    return {};
  }

  // Gives unused PUs of several nodes, cores first; when all are used, all count as unused again.
  std::vector<unsigned> spread_over_nodes(std::size_t process, std::size_t workers) {
    std::vector<unsigned> given;
    while (given.size() < workers) {
      std::vector<std::size_t> turn(nodes_.size());
      std::iota(turn.begin(), turn.end(), process);
      for (std::size_t& i : turn) i %= nodes_.size();
      if (std::ranges::all_of(nodes_, [](const Node& n) { return n.unused() == 0; }))
        for (Node& node : nodes_) node.used = 0;
      std::vector<std::size_t> share(nodes_.size(), 0);
      plan_shares(turn, workers - given.size(), share);
      for (const std::size_t i : turn) {
        const std::vector<unsigned> part = nodes_[i].take(share[i]);
        given.insert(given.end(), part.begin(), part.end());
      }
    }
    return given;
  }

 private:
  struct Node {
    std::vector<Pu> pus;
    std::size_t used = 0;

    std::size_t unused() const { return pus.size() - std::min(used, pus.size()); }
    std::vector<unsigned> take(std::size_t count) {
      std::vector<unsigned> taken;
      for (; count > 0; --count) taken.push_back(pus[used++ % pus.size()].os_index);
      return taken;
    }
  };

  void plan_shares(const std::vector<std::size_t>& turn, std::size_t wanted,
                   std::vector<std::size_t>& share) const {
    for (unsigned smt = 0; wanted > 0; ++smt) {
      bool more = false;
      for (const std::size_t i : turn) {
        const Node& node = nodes_[i];
        std::size_t next = node.used + share[i];
        for (; wanted > 0 && next < node.pus.size() && node.pus[next].smt <= smt; ++next, --wanted)
          ++share[i];
        more = more || next < node.pus.size();
      }
      if (!more) return;
    }
  }

  std::vector<Node> nodes_;
};

void deal_per_node(Placement& plan, const Topology& topology) {
  NodeDealer dealer(topology);
  const auto workers = static_cast<std::size_t>(plan.workers_per_process);
  int spread = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(plan.processes); ++p) {
    std::vector<unsigned> given = dealer.on_one_node(p, workers, plan.oversubscribed);
    if (given.empty()) {
      given = dealer.spread_over_nodes(p, workers);
      ++spread;
    }
    for (std::size_t w = 0; w < workers; ++w) plan.places[p * workers + w].pus = {given[w]};
  }
  if (spread > 0) {
    if (!plan.remark.empty()) plan.remark += ' ';
    plan.remark +=
        std::to_string(spread) + " of " + std::to_string(plan.processes) +
        (plan.processes == 1 ? " process" : " processes") +
        " may span NUMA nodes: the workers do not fit on the PUs that one node has left.";
  }
}

constexpr std::string_view kPolicies[] = {"compact", "scatter", "numa", "none"};  // by their number
static_assert(std::size(kPolicies) == static_cast<std::size_t>(PlacementPolicy::none) + 1);

}  // namespace

PlacementPolicy parse_placement_policy(std::string_view text) {
  const auto found = std::ranges::find(kPolicies, text);
  if (found != std::end(kPolicies)) return static_cast<PlacementPolicy>(found - kPolicies);
  throw UsageError("\"{}\" is not a placement: use compact, scatter, numa or none", text);
}

std::string_view to_string(PlacementPolicy policy) {
  return kPolicies[static_cast<std::size_t>(policy)];
}

std::vector<unsigned> Placement::pus_of_process(int process) const {
  std::set<unsigned> pus;
  for (int w = 0; w < workers_per_process; ++w) {
    const std::vector<unsigned>& place = at(process, w).pus;
    pus.insert(place.begin(), place.end());
  }
  return {pus.begin(), pus.end()};
}

Placement plan_placement(const Topology& topology, PlacementPolicy policy, int processes,
                         int workers_per_process) {
  Placement plan = empty_plan(policy, processes, workers_per_process, topology.pus().size());
  switch (policy) {
    case PlacementPolicy::compact:
      deal(plan, topology.pu_os_indices());
      break;
    case PlacementPolicy::scatter:
      deal(plan, scattered(topology));
      break;
    case PlacementPolicy::per_numa_node:
      deal_per_node(plan, topology);
      break;
    case PlacementPolicy::none:
      break;
  }
  return plan;
}

Placement plan_placement(const Topology& topology, std::span<const unsigned> pus, int processes,
                         int workers_per_process) {
  if (pus.empty()) throw UsageError("the list of CPUs is empty: name at least one");
  for (const unsigned pu : pus) {
    if (topology.find_pu(pu)) continue;
    const std::string restriction = topology.restriction();
    throw UsageError(
        "CPU {} is not usable: usable are {}, {}", pu, format_cpu_list(topology.pu_os_indices()),
        restriction.empty() ? "all that the machine has" : "limited by " + restriction);
  }
  const std::size_t distinct = std::set<unsigned>(pus.begin(), pus.end()).size();
  Placement plan = empty_plan(PlacementPolicy::compact, processes, workers_per_process, distinct);
  deal(plan, pus);
  return plan;
}

}  // namespace tabane::core
