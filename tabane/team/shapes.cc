#include "tabane/team/shapes.h"

#include <algorithm>
#include <set>

namespace tabane::team {
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
