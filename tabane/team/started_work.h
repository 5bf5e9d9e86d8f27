// Work that begins before its shape is known: threads of the caller do the first tasks, and if the
// rest is worth a sample, each run of the sample does tasks that are still to do. So no task is
// done twice, and work that is too little for a sample never stops.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tabane/team/choose.h"
#include "tabane/team/experiment.h"
#include "tabane/team/run_job.h"
#include "tabane/team/task_set.h"

namespace tabane::team {

class StartedWork : public Experiment {
 public:
  // like: placement, order of forks and permissions of the team. in_caller: one process may be the
  // calling one; false: it is forked, too. n: > 0.
  StartedWork(std::size_t n, const TaskSet& tasks, const JobOptions& like, bool in_caller);

  // Does tasks with threads of the calling process until all are done, a sample of the others
  // pays, or the tasks are seen to wait for something else than a PU. throws: as Team::map().
  JobReport begin(int threads, const Limits& limits);

  std::size_t left() const { return n_ - first_ - sampled_.size(); }
  bool waits() const { return next_ == Next::more_threads; }
  bool samples() const { return next_ == Next::sample; }
  double seconds() const { return begun_ ? begun_->seconds_each * double(left()) : 0; }

  // Does what is left. throws: as Team::map(); then all of it is left.
  JobReport finish(const JobOptions& options);

  // Of Experiment. Each run does other tasks; once they are few, fewer than asked for.
  Trial run(Shape shape, std::size_t count) override;
  double start_seconds(Shape shape) override;
  double result_seconds() override;
  bool disturbed() override { return disturbance_.now(); }
  bool keeps_results() const override { return true; }
  const Begun* begun() const override { return begun_ ? &*begun_ : nullptr; }

 private:
  enum class Next { go_on, sample, more_threads };

  JobOptions options_for(Shape shape) const;
  // How far a worker of begin() is.
  enum class Seen : char { nothing, first_chunk, end };
  void reach_boundary(int worker, std::size_t done, const Limits& limits);
  void look(std::size_t all, double seconds, const Limits& limits);
  void do_left(Progress& at, std::size_t begin, std::size_t end) const;

  std::size_t n_;
  const TaskSet& tasks_;
  JobOptions like_;
  bool in_caller_;
  Disturbance disturbance_;
  std::size_t first_ = 0;             // tasks 0 … first - 1 are done
  std::vector<std::size_t> sampled_;  // other tasks that are done
  std::optional<Begun> begun_;
  Next next_ = Next::go_on;
  std::uint64_t begin_ns_ = 0, begin_wanted_ns_ = 0;
  std::vector<Seen> seen_;                 // by worker, which alone writes it
  std::atomic<int> shown_{0}, at_end_{0};  // workers that have seen as much
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> looking_{false}, looked_{false}, enough_{false};
  std::vector<std::size_t> gaps_;  // of sampled tasks, in order: how many are left before each
  std::size_t returned_ = 0;       // results, by runs in other processes
  double return_seconds_ = 0;      // of taking them
};

// An estimate of what to fork this process once and to end the child takes, from its size alone.
double guess_fork_seconds();

}  // namespace tabane::team
