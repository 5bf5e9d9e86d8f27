// Answers the questions of choose.h with a sample of the real tasks, run in child processes, so
// that the caller's data do not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

#include "tabane/core/keep.h"
#include "tabane/team/choose.h"
#include "tabane/team/control.h"
#include "tabane/team/job.h"
#include "tabane/team/result_file.h"
#include "tabane/team/run_job.h"

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
  Trial run(Shape shape, std::size_t count) override;
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

}  // namespace tabane::team
