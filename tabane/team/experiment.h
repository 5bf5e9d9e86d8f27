// Answers the questions of choose.h with the real tasks: with a sample that is run in child
// processes, so that the caller's data do not change, or with work that has begun and goes on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/team/choose.h"
#include "tabane/team/job.h"
#include "tabane/team/result_file.h"

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

// Whether others use the machine: they are ready to run, or the hypervisor has given time to others
// since this was made.
class Disturbance {
 public:
  Disturbance();
  bool now() const;

 private:
  double stolen_at_first_;  // ticks
};

// Seconds to start and end a team that does nothing.
double seconds_to_start(JobOptions options, bool forked);

// Tasks to try, without the types of task and result.
struct Sample {
  // Does the tasks order(begin) … order(end - 1), discards their results, and writes their seconds
  // to seconds[begin] … seconds[end - 1].
  std::function<void(Progress&, std::size_t begin, std::size_t end, const SpreadOrder& order,
                     double* seconds)>
      do_tasks;
  // Does a task, writes its result `copies` times and returns the nanoseconds of writing. Empty if
  // the tasks have no results that can be returned.
  std::function<std::uint64_t(ResultFile&, std::size_t task, std::uint64_t& copies)> write;
  std::function<void(std::span<const std::byte>)> read;  // one result
};

template <class R, class F>
std::uint64_t write_copies(F& f, ResultFile& file, std::size_t task, std::uint64_t& copies) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  constexpr std::uint64_t kMostCopies = 1000;
  const R result = f(task);
  Bytes once;
  put_value(once, result);
  const std::uint64_t begin = now_ns();
  ResultWriter out;
  copies = 0;
  do {
    out.put(file, copies, result);
    ++copies;
  } while (copies < kMostCopies && copies * once.size() < kBytes);
  out.flush(file);
  return now_ns() - begin;
}

// f must live as long as the sample.
template <class R, class F>
Sample sample_of(F& f) {
  Sample sample;
  sample.do_tasks = [&f](Progress& at, std::size_t begin, std::size_t end, const SpreadOrder& order,
                         double* seconds) {
    std::uint64_t before = now_ns();
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t task = order(k);
      if (!at.begins(task)) break;
      if constexpr (std::is_void_v<R>) {
        f(task);
      } else {
        const R result = f(task);
        core::keep(&result);
      }
      const std::uint64_t after = now_ns();
      seconds[k] = static_cast<double>(after - before) * 1e-9;
      before = after;
    }
  };
  if constexpr (!std::is_void_v<R>) {
    if constexpr (Serialisable<R>) {
      sample.write = [&f](ResultFile& file, std::size_t task, std::uint64_t& copies) {
        return write_copies<R>(f, file, task, copies);
      };
      sample.read = [](std::span<const std::byte> bytes) {
        Reader in(bytes);
        const R result = get_value<R>(in);
        core::keep(&result);
      };
    }
  }
  return sample;
}

class TaskExperiment : public Experiment {
 public:
  // like: placement, order of forks and permissions of the team to choose for. n: > 0.
  TaskExperiment(std::size_t n, Sample sample, const JobOptions& like);

  // All throw as Team::map().
  SampleRun run(Shape shape, std::size_t count) override;
  double start_seconds(Shape shape) override;
  double result_seconds() override;
  bool disturbed() override { return disturbance_.now(); }

 private:
  JobOptions options_for(Shape shape, bool forked) const;

  std::size_t n_;
  Sample sample_;
  JobOptions like_;
  Disturbance disturbance_;
};

// choose_shape() on this machine with a TaskExperiment.
Choice choose_tasks(std::size_t n, Sample sample, const JobOptions& like,
                    const Limits& limits = {});

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

// Work that begins before its shape is known: threads of the caller do the first tasks, and if the
// rest is worth a sample, each run of the sample does tasks that are still to do. So no task is
// done twice, and work that is too little for a sample never stops.
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
  SampleRun run(Shape shape, std::size_t count) override;
  double start_seconds(Shape shape) override;
  double result_seconds() override;
  bool disturbed() override { return disturbance_.now(); }
  bool keeps_results() const override { return true; }
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
  bool in_caller_;
  Disturbance disturbance_;
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

// An estimate of what to fork this process once and to end the child takes, from its size alone.
double guess_fork_seconds();

}  // namespace tabane::team
