// Runs samples of the tasks within a budget and keeps what they told.
#pragma once

#include <cstddef>
#include <vector>

#include "tabane/team/choose.h"
#include "tabane/team/team_model.h"

namespace tabane::team {

class Sampler {
 public:
  Sampler(Experiment& experiment, std::size_t n, const Limits& limits)
      : experiment_(experiment), n_(n), limits_(limits) {}

  // Runs tasks on one worker alone; all else is relative to that.
  void measure_base();
  // Runs tasks with this shape unless the budget forbids what it is expected to take: up to three
  // times while that is cheap, or once if it has been run before. start: what starting it is
  // expected to cost; alike: all its workers are equally fast, so that differences between tasks
  // are the tasks' own. Returns false if it was not run.
  bool measure(Shape shape, double expected_slowdown, double start, bool alike);
  // Asks for the cost of starting, as often as it is cheap, and gives the median.
  double start_seconds(Shape shape);

  double task_seconds() const { return task_seconds_; }
  // Standard deviation of the task times over their mean, without what noise adds to all at once.
  double variation() const { return variation_; }
  double task_error() const { return task_error_; }  // relative, of task_seconds
  double base_error() const { return base_error_; }  // relative, of the runs on one worker
  double spent() const { return spent_; }
  // Seconds that may still be spent beside what is kept back for later questions.
  double left() const { return budget() * (1 - kept_back_) - spent_; }
  void keep_back(double share) { kept_back_ = share; }
  std::vector<SlowdownPoint> points() const;
  bool measured(Shape shape) const { return find(shape) != nullptr; }
  double slowdown(Shape shape) const;  // shape: was run
  // Relative standard deviation of a run, from those that were repeated; single large ones do not
  // count.
  double noise() const;

 private:
  struct Point {
    Shape shape;
    std::vector<double> slowdowns;
    bool one_round = true;
  };

  double budget() const;
  std::size_t count_for(Shape shape, double slowdown) const;
  double slowdown_of(const Trial& trial, Shape shape, bool* one_round);
  const Point* find(Shape shape) const;
  void learn_sizes(const Trial& trial, double slowdown);
  void settle_sizes();

  Experiment& experiment_;
  std::size_t n_;
  Limits limits_;
  double spent_ = 0, kept_back_ = 0, task_seconds_ = 0, variation_ = 0, task_error_ = 0.05,
         base_error_ = 0.05;
  std::vector<double> base_;                // seconds of each task on one worker, median over runs
  std::vector<std::vector<double>> sizes_;  // of each task, as every run tells
  std::vector<double> base_runs_;
  std::vector<Point> points_;
};

}  // namespace tabane::team
