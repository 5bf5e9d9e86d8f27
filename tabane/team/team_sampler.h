// Runs samples of the tasks within a budget and keeps the results.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tabane/team/choose.h"
#include "tabane/team/team_model.h"

namespace tabane::team {

class Sampler {
 public:
  Sampler(Experiment& experiment, std::size_t n, const Limits& limits);

  // Runs the first task alone. Returns whether a sample can pay: whether the fewest runs that teach
  // anything take at most a fifth of what `workers` could save at best.
  bool pays(int workers);
  // Runs tasks on one worker alone; all else is relative to that.
  void measure_base();
  // Runs tasks with this shape. Returns false, without a run, if it is expected to exceed the
  // budget. start: the expected cost of starting the shape; alike: all its workers are equally
  // fast, so that differences between tasks are the tasks' own.
  bool measure(Shape shape, double expected_slowdown, double start, bool alike);
  double start_seconds(Shape shape);

  // Whether the budget holds something that is expected to take so long.
  bool affords(double seconds) const { return spent_ + seconds <= budget(); }

  // Tasks that no run has done, where results are kept; else all.
  std::size_t left() const { return experiment_.keeps_results() ? n_ - done_ : n_; }
  // Whether tasks are mostly not on a PU, so that more workers than PUs pay.
  bool waits() const { return waits_; }

  double task_seconds() const { return task_seconds_; }
  // Standard deviation of the task times over their mean, without what noise adds to all at once.
  double variation() const { return variation_; }
  double task_error() const { return task_error_; }  // relative, of task_seconds
  // How much equal runs differ, one standard deviation, relative; nothing if none were repeated and
  // no task was done twice.
  std::optional<double> scatter() const;
  // Whether others used the machine at more than a fifth of the runs.
  bool disturbed() const { return 5 * disturbed_ > runs_; }
  double spent() const { return spent_; }
  const std::vector<SlowdownPoint>& points() const { return points_; }
  bool measured(Shape shape) const;

 private:
  double budget() const;
  std::size_t count_for(Shape shape, double slowdown) const;
  SampleRun run(Shape shape, std::size_t count);
  double cost_of(double seconds, std::size_t count) const;
  std::size_t most_tasks() const;
  double slowdown_of(const SampleRun& trial, Shape shape) const;
  void learn_sizes(const SampleRun& trial, double slowdown);

  Experiment& experiment_;
  std::size_t n_;
  Limits limits_;
  const BegunWork* begun_;
  std::size_t done_ = 0;  // where results are kept
  bool waits_ = false;
  double spent_ = 0, task_seconds_ = 0, variation_ = 0, task_error_ = 0;
  double saving_ = 0;           // of all workers at best
  double process_seconds_ = 0;  // to fork and end the one process of a run
  int runs_ = 0, disturbed_ = 0;
  std::size_t base_tasks_ = 0;              // that one worker alone has done
  std::vector<double> differences_;         // of equal runs: logarithms of their ratios
  std::vector<std::vector<double>> sizes_;  // seconds of each task alone, as every run shows
  std::vector<SlowdownPoint> points_;
};

}  // namespace tabane::team
