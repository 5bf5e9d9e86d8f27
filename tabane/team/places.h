// Shapes of teams: where their workers run on this machine, which of them share a PU, a core and a
// NUMA node, and which shapes are worth weighing.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tabane/core/placement.h"
#include "tabane/core/topology.h"

namespace tabane::team {

struct Shape {
  int processes = 1, threads = 1;  // in each process
  int workers() const { return processes * threads; }
  auto operator<=>(const Shape&) const = default;
};
std::string text_of(Shape shape);  // "2 × 8"

// The machine as the calling thread may use it. Read at the first call, and again when the PUs that
// the thread may run on have changed. cost: one system call otherwise.
core::Topology known_topology();
// How many of its PUs can be busy all the time: fewer where a control group limits CPU time. Read
// with it.
int busy_pus();

// core::plan_placement() on known_topology(); on a machine that is not this one nothing is bound.
core::Placement plan_places(core::PlacementPolicy policy, int processes, int threads);

// Workers in the same situation on one node.
struct WorkerGroup {
  int count = 0;
  int on_pu = 1;          // workers on the PU of each
  int pus_of_core = 1;    // PUs of its core that have workers
  int nodes_spanned = 1;  // by the process that it belongs to
};

struct NodeLoad {
  int nodes = 1;                    // that look alike
  std::vector<WorkerGroup> groups;  // on each
};

using ShapeLoad = std::vector<NodeLoad>;

// The machine, and what it has worked out about shapes. Not for several threads at once.
class Machine {
 public:
  explicit Machine(const core::Topology& topology);

  int pus() const { return pus_; }
  int cores() const { return cores_; }
  int nodes() const { return nodes_; }            // that have PUs
  int node_cores() const { return node_cores_; }  // of the largest node
  int node_pus() const { return node_pus_; }      // of the largest node

  // cost: O(workers) once for each shape.
  const ShapeLoad& load(Shape shape);

 private:
  core::Topology topology_;
  int pus_ = 1, cores_ = 1, nodes_ = 1, node_cores_ = 1, node_pus_ = 1;
  std::map<Shape, ShapeLoad> loads_;
};

// Shapes of at most `most_workers` workers in at most `most_processes` processes for n tasks: all
// of them on small machines; on large ones those that fill cores, nodes or the machine, divisors,
// powers of two and their halves between, and those that leave no worker idle in the last round.
std::vector<Shape> candidate_shapes(const Machine& machine, std::size_t n, int most_workers,
                                    int most_processes);

// Shapes a little larger and smaller than this one, within the same bounds.
std::vector<Shape> shapes_near(Shape shape, int most_workers, int most_processes);

}  // namespace tabane::team
