// Chooses processes × threads from a sample of the tasks: how threads of one process slow each
// other is measured and fitted, what processes cost is added, and the cheapest shape is taken.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/fit.h"
#include "tabane/core/topology.h"
#include "tabane/team/places.h"

namespace tabane::team {

struct Limits {
  int most_workers = 0;    // 0: twice the usable PUs
  int most_processes = 0;  // 0: as many as workers
  // Of the time of the whole work on one worker; but up to the time of 24 tasks, and 5 ms, may be
  // spent where that is at most a fifth of what the best shape could save. Of work that was begun
  // (BegunWork) a sample takes at most 8 % of the time that is left, whatever is given here.
  double most_sample_share = 0.05;
  double most_sample_seconds = 2;  // no run is begun that is expected to exceed it
};

// What a run of some tasks took.
struct SampleRun {
  double seconds = 0;                // from when all workers exist until all tasks are done
  double total_seconds = 0;          // of the run, with starting and ending all processes
  std::vector<double> task_seconds;  // of each task, in the sample's order
  double cpu_share = 1;              // of the workers' time, on a PU; 1: not measured
};

// What work has shown that was begun by as many threads of one process as there are PUs.
struct BegunWork {
  double seconds_each = 0;  // that each task adds to the time of the whole
  int workers = 1;
  double fork_seconds = 0;  // an estimate
};

// What a sample of the tasks can be asked. Tests answer from a law instead of a clock.
class Experiment {
 public:
  virtual ~Experiment() = default;
  // Does the first `count` tasks of a fixed order, spread over the work, with a team of this shape
  // placed as a team places itself; so task_seconds of two runs can be compared position by
  // position. count: 1 … n.
  virtual SampleRun run(Shape shape, std::size_t count) = 0;
  // Seconds to start and end a team of this shape that does nothing, with what is mapped now.
  virtual double start_seconds(Shape shape) = 0;
  // Seconds to return the result of one task from a child process.
  // As far as it is known.
  virtual double result_seconds() = 0;
  // Whether others use the machine now: then short runs, which the system lets through, say little
  // of long work, which has to share.
  virtual bool disturbed() = 0;
  // Whether what is done in a run need not be done again: then each run does other tasks of the n,
  // spread over those that are left, and total_seconds holds what their results cost, too.
  virtual bool keeps_results() const { return false; }
  // Null: the sample is the first that is seen of the work. Else n counts what is left.
  virtual const BegunWork* begun() const { return nullptr; }
};

struct Prediction {
  Shape shape;
  // The interval holds what the work then takes in nine of ten cases (tabane/team/chooser.md).
  double seconds = 0, low = 0, high = 0;

  bool holds(double measured) const { return low <= measured && measured <= high; }
};

struct Choice {
  Shape shape;
  // Of all tasks that the sample has left to do, with their start. Nothing if no sample was taken,
  // if others used the machine meanwhile, if the sample did not show how much equal runs differ, or
  // if the interval would be wider than a factor of 4.
  std::optional<Prediction> predicted;
  std::string reason;  // one sentence, and another if nothing is predicted
  std::vector<Prediction>
      alternatives;  // all shapes that were weighed, the choice, then best first; none if no sample
  // In one process: how its threads slow each other. Of the machine: how the workers of a NUMA node
  // do, whichever process they are of.
  core::ScalabilityLaw in_process, of_machine;
  double task_seconds = 0;    // mean on one worker alone; 0: not measured
  double fork_seconds = 0;    // start and end of the processes of the shape; 0: nothing is forked
  double sample_seconds = 0;  // of choosing: of all runs with starting and ending their processes
};

// Whether a sample of `left` tasks of work that was begun is expected to take little of the time
// that they take with the threads that have begun.
bool sample_pays(const BegunWork& begun, std::size_t left, int most_processes,
                 const Limits& limits);

// The most that a sample of work that was begun may take, in seconds.
double most_sample_seconds(const BegunWork& begun, std::size_t left, const Limits& limits);

class Machine;

// As choose_shape(), on a machine that remembers what it has worked out about shapes.
Choice choose_on(Machine& machine, std::size_t n, Experiment& experiment, const Limits& limits);

// Chooses for n tasks on this machine. cost: the sample, then milliseconds. throws:
// core::UsageError if limits leave no shape.
Choice choose_shape(const core::Topology& topology, std::size_t n, Experiment& experiment,
                    const Limits& limits = {});

}  // namespace tabane::team
