#include "tabane/tools/tune/synthetic_command_test.h"

#include <algorithm>
#include <cmath>

namespace tabane::lab::tune {
namespace {

enum Placement { kUnbound, kCompact, kScatter, kPerNode };

// Dimensions in the order of the space.
enum Which { kProcesses, kThreads, kPlacement, kAllocator, kHugePages, kMemory };

Dimension counts(const char* name, Scale scale, int start, const std::vector<int>& steps) {
  Dimension dimension{.name = name, .scale = scale, .levels = {kAsStarted}, .amounts = {}};
  dimension.amounts.push_back(start);
  for (const int step : steps) {
    if (step == start) continue;
    dimension.levels.emplace_back(step);
    dimension.amounts.push_back(step);
  }
  return dimension;
}

Space space_of(const SyntheticMachine& machine, const SyntheticLaw& law) {
  const std::vector<int> steps =
      ladder(machine.pus(), {machine.nodes, machine.cores_per_node, machine.cores(),
                             machine.cores_per_node * machine.pus_per_core});
  static const char* const kNames[] = {"jemalloc", "mimalloc", "tcmalloc"};
  Dimension allocators{.name = "allocator", .levels = {kAsStarted}};
  for (std::size_t i = 1; i < law.allocator_alone.size(); ++i)
    allocators.levels.emplace_back(kNames[i - 1]);
  std::vector<Dimension> dimensions = {
      counts("processes", Scale::processes, 1, law.varies_processes ? steps : std::vector<int>{}),
      counts("threads", Scale::threads, machine.pus(), steps),
      {.name = "placement", .levels = {kAsStarted, "compact", "scatter", "numa"}},
      std::move(allocators),
      {.name = "huge pages", .levels = {kAsStarted, "yes"}},
      {.name = "memory", .levels = {kAsStarted, "interleave"}}};
  if (!law.varies_huge_pages) dimensions[kHugePages].levels.pop_back();
  if (!law.varies_memory) dimensions[kMemory].levels.pop_back();
  const auto amount = [dimensions](const Candidate& candidate, std::size_t d) {
    return dimensions[d].amounts[static_cast<std::size_t>(candidate[d])];
  };
  const double most = machine.pus();
  return Space(std::move(dimensions), [amount, most](const Candidate& candidate) {
    return amount(candidate, kProcesses) * amount(candidate, kThreads) <= most;
  });
}

double ceil_div(double a, double b) { return std::ceil(a / b); }

}  // namespace

SyntheticCommand::SyntheticCommand(const SyntheticMachine& machine, const SyntheticLaw& law,
                                   std::uint64_t seed)
    : machine_(machine), law_(law), space_(space_of(machine, law)), random_(seed) {
  for (const Candidate& candidate : space_.candidates())
    true_seconds_.push_back(seconds_of(candidate));
}

double SyntheticCommand::least_seconds() const {
  return *std::min_element(true_seconds_.begin(), true_seconds_.end());
}

RunResult SyntheticCommand::run(std::size_t candidate) {
  std::normal_distribution<double> normal;
  double seconds = true_seconds_[candidate] * std::exp(law_.noise * normal(random_));
  if (law_.disturbed > 0 && std::bernoulli_distribution(law_.disturbed)(random_))
    seconds *= std::uniform_real_distribution<double>(2, 3)(random_);
  return {.value = seconds, .seconds = seconds};
}

double SyntheticCommand::seconds_of(const Candidate& candidate) const {
  if (law_.nothing_matters) return 1;
  const double processes = space_.processes(candidate), threads = space_.threads(candidate);
  const double workers = processes * threads;
  const int placement = candidate[kPlacement];
  const bool interleaved = candidate[kMemory] == 1;

  // Where the workers are.
  const double node_pus = machine_.cores_per_node * machine_.pus_per_core;
  const double cores_used = placement == kCompact ? ceil_div(workers, machine_.pus_per_core)
                                                  : std::min<double>(workers, machine_.cores());
  double nodes_used = std::min<double>(workers, machine_.nodes);
  double nodes_of_process = std::min<double>(threads, machine_.nodes);
  if (placement == kCompact) {
    nodes_used = ceil_div(workers, node_pus);
    nodes_of_process = ceil_div(threads, node_pus);
  } else if (placement == kPerNode) {
    nodes_of_process = ceil_div(threads, node_pus);
    nodes_used = std::min<double>(machine_.nodes, processes * nodes_of_process);
  }

  // Compute: cores, and what their second PUs add; threads that share a node's cores.
  const double second = std::max(0.0, workers - cores_used);
  double rate = (cores_used + second * law_.second_pu) / workers;  // of a worker
  if (placement == kPerNode && nodes_used < machine_.nodes)
    rate = std::min(rate, nodes_used * machine_.cores_per_node *
                              (1 + law_.second_pu * (machine_.pus_per_core - 1)) / workers);
  if (placement == kUnbound) rate /= 1 + law_.unbound;

  // Memory: the bandwidth of the nodes that hold the pages.
  const double nodes_with_pages =
      interleaved ? machine_.nodes
      : law_.one_node_touches
          ? std::min(nodes_used,
                     placement == kCompact ? ceil_div(processes * threads, node_pus) : processes)
          : nodes_used;
  const double bandwidth = law_.node_bandwidth * std::max(1.0, nodes_with_pages);
  double move = std::max(1 / rate, workers / bandwidth);
  if (interleaved) move *= 1 + law_.interleave_penalty;
  if (candidate[kHugePages] == 1) move *= 1 - law_.huge_pages;

  const auto allocator = static_cast<std::size_t>(candidate[kAllocator]);
  const double allocate = law_.allocator_alone[allocator] *
                          (1 + law_.allocator_growth[allocator] * std::log2(threads)) / rate;
  const double compute = (1 - law_.memory - law_.allocation) / rate;
  const double worker = (compute + law_.memory * move + law_.allocation * allocate) / workers;

  const double kappa = law_.coherency_threads * (1 + law_.remote * (nodes_of_process - 1));
  const double in_process =
      1 + law_.serial_threads * (threads - 1) + kappa * threads * (threads - 1);
  const double between = 1 + law_.serial_processes * (processes - 1) +
                         law_.coherency_processes * processes * (processes - 1);
  return 100 * worker * in_process * between + law_.start_of_process * processes;
}

SyntheticLaw draw_law(const SyntheticMachine& machine, std::mt19937_64& random) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto decades = [&](double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  };
  const auto chance = [&](double share) { return uniform(0, 1) < share; };
  SyntheticLaw law;
  const double pus = machine.pus();
  law.serial_threads = chance(0.8) ? decades(0.02, 10) / pus : 0;
  law.coherency_threads = chance(0.6) ? decades(0.02, 20) / (pus * pus) : 0;
  law.serial_processes = chance(0.8) ? decades(0.02, 10) / pus : 0;
  law.coherency_processes = chance(0.6) ? decades(0.02, 20) / (pus * pus) : 0;
  law.second_pu = uniform(-0.2, 0.6);
  law.remote = chance(0.5) ? decades(0.2, 4) : 0;
  law.memory = chance(0.6) ? uniform(0.1, 0.7) : 0;
  law.node_bandwidth = machine.cores_per_node * uniform(0.15, 0.8);
  law.one_node_touches = chance(0.3);
  law.interleave_penalty = uniform(0, 0.4);
  law.allocation = chance(0.5) ? uniform(0.05, 0.3) : 0;
  law.allocator_alone = {1};
  law.allocator_growth = {uniform(0, 0.5)};
  law.varies_processes = chance(0.75);
  law.varies_huge_pages = chance(0.5);
  law.varies_memory = chance(0.5);
  const int others = std::uniform_int_distribution<int>(0, 2)(random);
  for (int i = 0; i < others; ++i) {
    law.allocator_alone.push_back(uniform(0.8, 1.3));
    law.allocator_growth.push_back(uniform(0, 0.3));
  }
  law.huge_pages = uniform(-0.1, 0.3);
  law.start_of_process = chance(0.5) ? decades(0.0005, 0.02) : 0;
  law.unbound = uniform(0, 0.1);
  return law;
}

}  // namespace tabane::lab::tune
