// What a team's placement means for its workers: who shares a PU, a core and a NUMA node.
#pragma once

#include <map>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/team/shape.h"

namespace tabane::team {

// Workers in the same situation on one node.
struct WorkerGroup {
  int count = 0;
  int on_pu = 1;          // workers on the PU of each
  int pus_of_core = 1;    // PUs of its core that have workers
  int nodes_spanned = 1;  // by the process that it belongs to
};

struct NodeLoad {
  int nodes = 1;         // that look alike
  int cores_active = 0;  // on each
  std::vector<WorkerGroup> groups;
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

}  // namespace tabane::team
