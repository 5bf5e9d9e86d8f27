#include "tabane/team/law_families_test.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <vector>

#include "tabane/core/topology.h"

namespace tabane::team {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
T one_of(std::mt19937_64& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

Law any_law(std::mt19937_64& random) {
  Law law;
  law.n = one_of<std::size_t>(random, {300, 1000, 20'000, 1'000'000});
  law.task_seconds = one_of(random, {50e-6, 1e-3, 0.02});
  law.variation = one_of(random, {0.0, 0.0, 0.1, 0.3});
  law.contention = one_of(random, {0.0, 0.003, 0.02, 0.1, 0.4});
  law.coherency = one_of(random, {0.0, 0.0, 1e-4, 0.002, 0.05});
  law.core_yield = one_of(random, {1.0, 1.1, 1.2, 1.3});
  law.clock_drop = one_of(random, {0.0, 0.1, 0.25});
  law.node_penalty = one_of(random, {0.0, 0.2, 1.0});
  law.ceiling = one_of(random, {kInfinity, kInfinity, 14.0, 5.5});
  law.gib = one_of(random, {0.02, 1.0, 30.0});
  law.fork_seconds_per_gib = one_of(random, {1e-4, 8e-3});
  law.teardown_share = one_of(random, {0.0, 0.03, 0.15});
  law.result_seconds = one_of(random, {1e-7, 2e-6});
  return law;
}

const std::vector<Family> kFamilies{
    {"everything mixed", [](Law&, std::mt19937_64&) {}},
    {"no contention",
     [](Law& law, std::mt19937_64&) {
       law.contention = law.coherency = law.node_penalty = law.clock_drop = 0;
       law.ceiling = kInfinity;
     }},
    {"allocation-heavy",
     [](Law& law, std::mt19937_64& random) {
       law.contention = one_of(random, {0.3, 0.7, 1.0});
       law.coherency = one_of(random, {0.0, 0.1, 0.5});
       law.gib = 0.05;
     }},
    {"giant forks",
     [](Law& law, std::mt19937_64& random) {
       law.gib = one_of(random, {200.0, 1000.0});
       law.fork_seconds_per_gib = 8e-3;
     }},
    {"few tasks",
     [](Law& law, std::mt19937_64& random) {
       law.n = one_of<std::size_t>(random, {1, 2, 7, 71, 73});
     }},
    {"tiny tasks",
     [](Law& law, std::mt19937_64& random) {
       law.task_seconds = one_of(random, {2e-7, 1e-6, 5e-6});
       law.n = one_of<std::size_t>(random, {100, 30'000, 1'000'000});
     }},
    {"huge results",
     [](Law& law, std::mt19937_64& random) {
       law.result_seconds = law.task_seconds * one_of(random, {0.01, 0.1, 1.0});
     }},
    {"memory-bound",
     [](Law& law, std::mt19937_64& random) {
       law.ceiling = one_of(random, {1.5, 4.0, 9.0});
     }},
    {"uneven tasks",
     [](Law& law, std::mt19937_64& random) {
       law.variation = one_of(random, {0.5, 1.0});
       law.n = one_of<std::size_t>(random, {73, 300, 1000, 20'000});
     }},
};

const char* description(Synthetic which) {
  switch (which) {
    case Synthetic::pus_2:
      return "pack:1 core:2 pu:1";
    case Synthetic::pus_72:
      return "pack:4 numa:1 core:18 pu:1";
    case Synthetic::pus_128:
      return "pack:2 numa:1 core:32 pu:2";
    case Synthetic::pus_512:
      break;
  }
  return "pack:8 numa:1 core:32 pu:2";
}

}  // namespace

Machine& machine(Synthetic which) {
  static std::map<Synthetic, Machine> machines;
  const auto found = machines.find(which);
  if (found != machines.end()) return found->second;
  return machines.emplace(which, Machine(core::Topology::synthetic(description(which))))
      .first->second;
}

std::span<const Family> families() { return kFamilies; }

Law draw_law(const Family& family, std::mt19937_64& random) {
  Law law = any_law(random);
  family.shape(law, random);
  return law;
}

Case draw_case(const Family& family, Synthetic which, std::mt19937_64& random) {
  Case drawn{&machine(which), draw_law(family, random), {}};
  const int most = static_cast<int>(std::min(drawn.law.n, std::size_t(2 * drawn.machine->pus())));
  drawn.optimum = LawExperiment(*drawn.machine, drawn.law).true_optimum(most);
  return drawn;
}

}  // namespace tabane::team
