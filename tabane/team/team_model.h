// Predicts how long a team of a given shape needs, from laws and costs that a sample has fitted.
#pragma once

#include <span>
#include <vector>

#include "tabane/core/fit.h"
#include "tabane/team/places.h"

namespace tabane::team {

struct WorkerClass {
  double rate = 1;   // tasks of mean size per second, each worker
  double count = 1;  // workers
};

// Expected seconds until the last of n tasks is done when workers take them one by one: the mean
// work of a worker, and the tail in which some already wait. The tasks' times have the relative
// standard deviation `variation`. Without variation exact for workers that begin together; with it,
// gamma-distributed times are assumed, and the phases of the workers drift apart from round to
// round. n, rates > 0.
double expected_makespan(double n, std::span<const WorkerClass> workers, double variation);

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
  core::ScalabilityLaw in_process;  // over the threads of a process
  core::ScalabilityLaw of_node;     // over the workers of a NUMA node; coherency is 0
  double node_penalty = 0;          // a process on k nodes is slower by 1 + penalty (k - 1) / k
  bool waiting = false;  // tasks hardly use their PU: workers on one do not slow each other

  std::vector<WorkerClass> workers(const ShapeLoad& load, int threads) const;
};

// How much longer tasks took with a shape than on one worker alone.
struct SlowdownPoint {
  Shape shape;
  double slowdown = 1;
  bool one_round = true;  // every worker did one task; else the faster ones did more
};

// Fits the model by least squares of the relative errors over all points.
SpeedModel fit_speed(Machine& machine, std::span<const SlowdownPoint> points, bool waiting = false);

// The slowdown that the model has for the shape of a point.
double predict_slowdown(const SpeedModel& model, Machine& machine, const SlowdownPoint& point);

}  // namespace tabane::team
