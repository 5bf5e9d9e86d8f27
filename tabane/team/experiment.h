// Answers the questions of choose.h with the real tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tabane/team/choose.h"
#include "tabane/team/job.h"

namespace tabane::team {

// The numbers 0 … n - 1 in an order in which the first k, for any k, are spread over the whole:
// steps of the golden section of n, made coprime to n.
class SpreadOrder {
 public:
  explicit SpreadOrder(std::size_t n);  // n: > 0
  std::size_t operator()(std::size_t k) const;

 private:
  std::size_t n_, step_;
};

// The tasks of one call of a team and what becomes of their results, without their types. A call
// may consist of several runs, each of tasks that no other run has done.
struct TaskSet {
  // Before a run. forked: its workers are in other processes than the caller. What a run that
  // failed has left is dropped.
  std::function<void(std::size_t workers, bool forked)> begin_run;
  // On a worker: does tasks begin … end - 1 and keeps their results.
  std::function<void(Progress&, std::size_t begin, std::size_t end)> do_tasks;
  std::function<void(const Worker&)> finish;  // on a worker, after its last task; may be empty
  // After a run that has not failed, in the caller: takes what the workers have returned.
  std::function<void()> end_run;
};

// How one process does tasks of a sample. begins: the calling one does, and their results count.
// keeps: a child, whose results count. discards: a child; each run does the same tasks again, and
// what they change reaches nobody.
enum class Trial { begins, keeps, discards };

// Work that begins before its shape is known: threads of the caller do the first tasks, and if the
// rest is worth a sample, each run of the sample does tasks that are still to do. So no task is
// done twice, and work that is too little for a sample never stops.
class StartedWork : public Experiment {
 public:
  // like: placement, order of forks and permissions of the team. throws: core::UsageError if n is
  // 0.
  StartedWork(std::size_t n, const TaskSet& tasks, const JobOptions& like, Trial trial);

  // Does tasks with threads of the calling process until all are done, a sample of the others
  // pays, or the tasks are seen to wait for something else than a PU. throws: as Team::map().
  JobReport begin(int threads, const Limits& limits);

  std::size_t left() const { return n_ - first_ - sampled_.size(); }
  bool waits() const { return next_ == Next::more_threads; }
  bool samples() const { return next_ == Next::sample; }
  double seconds() const { return begun_ ? begun_->seconds_each * double(left()) : 0; }

  // Does what is left. throws: as Team::map(); then all of it is left.
  JobReport finish(const JobOptions& options);

  // Of Experiment. Where results are kept, each run does other tasks; once they are few, fewer than
  // asked for.
  SampleRun run(Shape shape, std::size_t count) override;
  double start_seconds(Shape shape) override;
  double result_seconds() override;
  bool disturbed() override;
  bool keeps_results() const override { return trial_ != Trial::discards; }
  const BegunWork* begun() const override { return begun_ ? &*begun_ : nullptr; }

 private:
  enum class Next { go_on, sample, more_threads };

  JobOptions options_for(Shape shape) const;
  // How far a worker of begin() is.
  enum class Reached : char { nothing, first_chunk, end };
  void reach_boundary(int worker, std::size_t done, const Limits& limits);
  void look(std::size_t all, double seconds, const Limits& limits);
  void do_left(Progress& at, std::size_t begin, std::size_t end) const;

  std::size_t n_;
  const TaskSet& tasks_;
  JobOptions like_;
  Trial trial_;
  double stolen_at_first_;            // ticks
  std::size_t first_ = 0;             // tasks 0 … first - 1 are done
  std::vector<std::size_t> sampled_;  // other tasks that are done
  std::optional<BegunWork> begun_;
  Next next_ = Next::go_on;
  std::uint64_t begin_ns_ = 0, begin_wanted_ns_ = 0;
  std::vector<Reached> reached_;           // by worker, which alone writes it
  std::atomic<int> shown_{0}, at_end_{0};  // workers that have seen as much
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> looking_{false}, looked_{false}, enough_{false};
  std::vector<std::size_t> gaps_;  // of sampled tasks, in order: how many are left before each
  std::size_t returned_ = 0;       // results, by runs in other processes
  double return_seconds_ = 0;      // of taking them
};

// choose_shape() on this machine with tasks whose results are discarded. throws: as Team::map().
Choice choose_tasks(std::size_t n, const TaskSet& tasks, const Limits& limits);

// An estimate of what to fork this process once and to end the child takes, from its size alone.
double guess_fork_seconds();

}  // namespace tabane::team
