// A halo exchange on a simulated machine: what most solvers on meshes do in each step.
#pragma once

#include <functional>
#include <string>

#include "tabane/comm/simulated_run.h"

namespace tabane::simulate {

// A square mesh on the machine's torus. In each step, a rank computes its points, exchanges its
// borders, of one double a point, with four neighbours, and takes part in some sums of one value.
struct Halo {
  int side = 400;
  int steps = 10;
  int sums = 2;
  double operations = 24, bytes = 56;  // per point, as in an iteration of tabane scg
};

// machine, changes: as comm::LaunchOptions. check: as comm::check_run(). throws: core::UsageError
// as comm::launch(), and if the mesh has fewer rows or columns than the machine.
comm::SimulatedRun simulate_halo(const std::string& machine, const std::string& changes,
                                 const Halo& halo, const std::function<void()>& check = {});

}  // namespace tabane::simulate
