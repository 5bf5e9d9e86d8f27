// Predicts how long a team of a given shape needs, from laws and costs that a sample has fitted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/team/choose.h"
#include "tabane/team/imbalance.h"
#include "tabane/team/machine_load.h"
#include "tabane/team/scalability_law.h"

namespace tabane::team {

// What processes and threads cost before and after the work.
struct StartCost {
  double per_level = 0;    // each fork on the longest path of the tree
  double per_process = 0;  // what does not run in parallel, the ends of the processes above all
  double per_thread = 0;   // threads of one process, started in a row

  // 0 for one worker in one process: nothing is started.
  double seconds(Shape shape) const;
};

// How fast the workers of a shape are, relative to one worker alone.
struct SpeedModel {
  ScalabilityLaw in_process;  // over the threads of a process
  ScalabilityLaw of_node;     // over the workers of a NUMA node; coherency is 0
  double core_yield = 1.2;    // throughput of a core with two workers on two PUs
  double node_penalty = 0;    // a process on k nodes is slower by 1 + penalty (k - 1) / k

  std::vector<WorkerClass> workers(const ShapeLoad& load, int threads) const;
};

// How much longer tasks took with a shape than on one worker alone.
struct SlowdownPoint {
  Shape shape;
  double slowdown = 1;
  bool one_round = true;  // every worker did one task; else the faster ones did more
  double error = 0.03;    // relative, one standard deviation
};

// Fits the model by least squares of the relative errors over all points. base_error: the relative
// error of the time on one worker alone, which all points share; where the fit moves it, `base`
// gets the factor by which that time was wrong. before: a fit of nearly the same points to begin
// from.
SpeedModel fit_speed(Machine& machine, std::span<const SlowdownPoint> points, double base_error,
                     double* base, const SpeedModel* before = nullptr);

// The slowdown that the model has for a point.
double predict_slowdown(const SpeedModel& model, const ShapeLoad& load, int threads,
                        bool one_round);

}  // namespace tabane::team
