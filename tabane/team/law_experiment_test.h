// An experiment whose answers come from known laws, for tests: no clock, any machine.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tabane/team/choose.h"
#include "tabane/team/places.h"
#include "tabane/team/team_model.h"

namespace tabane::team {

struct Law {
  std::size_t n = 1000;
  double task_seconds = 1e-3;
  double variation = 0;                  // of gamma-distributed task times
  double contention = 0, coherency = 0;  // of the threads of a process
  double core_yield = 1.15;              // of both PUs of a core
  double clock_drop = 0;                 // of the rate when all cores of a node work
  double node_penalty = 0;               // of a process whose threads are on several nodes
  double ceiling = std::numeric_limits<double>::infinity();  // of a node, in workers' worth
  double gib = 0.1, fork_seconds_per_gib = 0.01, fork_least = 150e-6;
  double sample_fork_seconds = 0;  // of a run with one process, which is forked for a sample
  double teardown_share = 0.05;    // of a fork, for each process, one after the other
  double thread_start = 15e-6;
  double result_seconds = 1e-6;
  double noise = 0;      // of each answer, one standard deviation
  double disturbed = 0;  // share of the answers that take twice as long
  bool others = false;   // use the machine, as the experiment says; changes no time
  bool waiting = false;  // tasks hardly use their PU: workers on one core do not slow each other
};

// Greedy scheduling of n drawn tasks, mean over some draws.
double simulated_makespan(std::size_t n, const std::vector<WorkerClass>& workers, double variation,
                          std::uint64_t seed = 1);

class LawExperiment : public Experiment {
 public:
  LawExperiment(Machine& machine, const Law& law, std::uint64_t seed = 1)
      : machine_(machine), law_(law), random_(seed) {}

  SampleRun run(Shape shape, std::size_t count) override;
  double start_seconds(Shape shape) override;
  double result_seconds() override;
  bool disturbed() override { return law_.others; }
  bool keeps_results() const override { return keeps_; }
  const BegunWork* begun() const override { return begun_ ? &*begun_ : nullptr; }

  // From now on no task is done twice.
  void keep_results() { keeps_ = true; }
  // As if so many threads of one process had begun the work, and law.n tasks were left.
  void begin(int threads);
  std::size_t left() const { return law_.n - done_; }
  // Of all runs and questions, less what their tasks would have taken with the threads that began.
  double wasted_seconds() const { return wasted_seconds_; }

  // What the whole work takes with this shape, without noise.
  double true_seconds(Shape shape);
  // The least of it over all shapes of at most so many workers. Where task times vary, the 40 best
  // by the formula of team_model.h are scheduled task by task.
  Prediction true_optimum(int most_workers);

  int runs() const { return runs_; }
  double asked_seconds() const { return asked_seconds_; }  // virtual time of all answers

 private:
  std::vector<WorkerClass> workers(Shape shape);
  double makespan(std::size_t n, const std::vector<WorkerClass>& at_work) const;
  double true_start(Shape shape) const;
  double outside_tasks(Shape shape) const;
  double noisy(double seconds);

  Machine& machine_;
  Law law_;
  std::mt19937_64 random_;
  int runs_ = 0;
  double asked_seconds_ = 0;
  bool keeps_ = false;
  std::optional<BegunWork> begun_;
  std::size_t done_ = 0;
  double wasted_seconds_ = 0;
};

}  // namespace tabane::team
