// Teams of processes × threads: forked processes that read the caller's data copy-on-write compute
// the results of independent tasks.
//
//   tabane::team::Team team({.processes = 4, .threads = 2});
//   std::vector<Count> counts = team.map<Count>(tasks.size(), [&](std::size_t i) { … });
//
// The processes are forked when the work begins, so the tasks see everything that the caller has
// built by then, including pointers. What a task changes stays in its process; only results come
// back. With one process nothing is forked: the caller and its threads do the work and share its
// memory.
//
// A loss is seen without signals: no sleep is cut short, and the caller and the tasks may do with
// SIGCHLD what they like; the processes begin with its default action. Where somebody ignores it or
// takes the ends of all children, Linux before 6.15 does not say how a process ended. Only with a
// LossListener there is a signal, SIGRTMAX - 1, after a loss: to the processes that the lost one
// had forked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tabane/core/measurement.h"
#include "tabane/core/placement.h"
#include "tabane/team/choose.h"
#include "tabane/team/experiment.h"
#include "tabane/team/fork.h"
#include "tabane/team/job.h"
#include "tabane/team/result_file.h"
#include "tabane/team/serialiser.h"

namespace tabane::team {

inline constexpr int automatic = 0;

struct TeamOptions {
  int processes = automatic;  // 1: only threads; automatic: chosen from a sample of the tasks
  int threads = automatic;    // in each process
  core::PlacementPolicy placement = core::PlacementPolicy::per_numa_node;
  ForkOrder fork = ForkOrder::tree;
  bool prepare_memory = false;  // see prepare_for_fork() in memory_map.h
  // Fork while other threads run. Locks that they hold stay locked in the processes, and pools that
  // they form wait there for threads that are not: tasks that use OpenMP after a parallel region of
  // the caller never end.
  bool allow_other_threads = false;
  bool measure_memory = false;  // fill in TeamReport::shared_share; the processes wait for it
  // Default: half of what the system and its control groups leave, because results exist twice
  // when they arrive.
  std::optional<std::size_t> most_result_bytes = {};
};

// What the last call of a team did; after a failure, only what was known before it began.
struct TeamReport : JobReport {    // of what was done after a sample
  int processes = 0, threads = 0;  // that worked; never more processes than tasks
  double seconds = 0;              // from the call until all results are there
  std::optional<Choice> choice;    // if processes or threads were chosen
  // What Choice::predicted predicts.
  double seconds_without_sample() const { return seconds - (choice ? choice->sample_seconds : 0); }
};

class Team {
 public:
  // throws: core::UsageError if processes or threads are negative or their product exceeds 65 536.
  explicit Team(TeamOptions options = {});

  // Calls f(worker) or f() once on every worker. Automatic numbers mean one process, and as many
  // threads as there are PUs. throws: as map(), with the worker's index as task.
  template <class F>
  void run(F&& f);

  // Returns f(0) … f(n - 1) in this order. Calls f once per task, in any order, on any worker, from
  // several threads at once. With automatic numbers threads of the caller begin; where the rest is
  // worth it, tasks that are still to do are tried with other shapes, also in child processes, and
  // their results are kept. Where a fork is to be tried and other threads run, or the system
  // refuses it, an automatic number of processes becomes one, and a remark says so; tasks of a run
  // that was refused are done again. R: trivially copyable without pointers, or with a Serialiser.
  // throws: TaskError if f throws; core::LostError with process, task and signal if a process dies;
  // core::SystemError if the system refuses a fork or memory, or if the results exceed
  // most_result_bytes (ENOMEM); core::UsageError if other threads run or n looks negative. After
  // any of these all processes are gone, and the next call works. cost: the forks,
  // which copy page tables (see memory_map.h), then about 20 ns per task in addition to f. What is
  // tried takes up to about 8 % of the time that the threads would have taken.
  template <class R, class F>
  std::vector<R> map(std::size_t n, F&& f);

  // Returns `initial` combined with f(0) … f(n - 1) by R = combine(R, R), which must be associative
  // and commutative, because each call distributes the tasks differently. Integer sums are the same
  // each time; floating-point sums differ in their last digits. throws: as map(); an exception of
  // combine counts as one of f, and comes as it is where the caller combines what workers returned.
  template <class R, class F, class Combine>
  R map_reduce(std::size_t n, F&& f, R initial, Combine&& combine);

  // Tries a sample of the tasks in child processes and predicts the best shape; see choose.h.
  // throws: as map().
  template <class F>
  static Choice choose(std::size_t n, F&& f, const Limits& limits = {});

  const TeamReport& report() const { return report_; }

 private:
  void begin_report(bool may_fork);
  JobOptions job_options(Shape shape, bool forked) const;
  JobOptions options_of_run() const;
  void perform(const Job& job, const JobOptions& options);
  // Does all tasks of a call, with the given shape or with one that is chosen meanwhile.
  void do_tasks(std::size_t n, const TaskSet& tasks);
  void do_chosen(std::size_t n, const TaskSet& tasks);
  bool caller_may_work() const;
  Choice choose_started(StartedWork& work, std::size_t n);
  Shape shape_of(const Choice& choice, std::size_t n) const;
  void keep_to(Choice& choice, Shape shape) const;
  JobOptions within(Shape shape, std::size_t n);
  void finish(StartedWork& work, Shape shape);
  void finish_with_threads(StartedWork& work, const std::string& why);
  void take(JobReport done, const JobOptions& options);
  void end();
  template <class R, class F>
  std::vector<R> map_bytes(std::size_t n, F& f);
  template <class R, class F>
  std::vector<R> map_written(std::size_t n, F& f);
  template <class R, class F, class Combine>
  R reduce_written(std::size_t n, F& f, R initial, Combine& combine);

  TeamOptions options_;
  TeamReport report_;
  std::uint64_t begin_ns_ = 0;
};

// throws: core::UsageError if n looks negative.
void check_tasks(std::size_t n);

[[noreturn]] void throw_no_memory(std::size_t n, std::size_t each);

// What code of the user threw in the caller.
struct UsersException {
  std::exception_ptr exception;
};

// Calls code of the user within with_memory_for(), which then throws on what it throws.
template <class Code>
auto users(Code code) {
  try {
    return code();
  } catch (...) {
    throw UsersException{std::current_exception()};
  }
}

// Calls `work`, whose exceptions of the tasks are others: what is not there is memory for results.
// throws: core::SystemError (ENOMEM); what users() has met.
template <class Work>
auto with_memory_for(std::size_t n, std::size_t each, Work work) {
  try {
    return work();
  } catch (const UsersException& users) {
    std::rethrow_exception(users.exception);
  } catch (const std::bad_alloc&) {
    throw_no_memory(n, each);
  } catch (const std::length_error&) {
    throw_no_memory(n, each);
  }
}

// A result from the bytes of another process. A Serialiser that gets no memory for it is not wrong.
template <class R>
R get_result(Reader& in) {
  try {
    return get_value<R>(in);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    throw UsersException{std::current_exception()};
  }
}

template <class R, class F>
constexpr void check_task_types() {
  static_assert(std::is_same_v<R, std::remove_cvref_t<R>> && !std::is_void_v<R>,
                "a task's result R is a plain value type: no reference, const or void (run() calls "
                "functions without a result)");
  static_assert(Serialisable<R>,
                "the results of a team come back as bytes: R must be trivially copyable, or a "
                "string, vector, pair, optional or map of such, or have a "
                "tabane::team::Serialiser<R>");
  static_assert(std::is_move_constructible_v<R>, "the results are moved into a std::vector<R>");
  static_assert(std::is_invocable_r_v<R, F&, std::size_t>,
                "the task must be callable as R f(std::size_t i)");
}

template <class F>
void Team::run(F&& f) {
  constexpr bool with_worker = std::is_invocable_v<F&, const Worker&>;
  static_assert(with_worker || std::is_invocable_v<F&>,
                "run() needs a function callable as f(tabane::team::Worker) or f()");
  begin_report(options_.processes > 1);
  const Job job{.once_per_worker = true,
                .do_tasks = [&f](Progress& at, std::size_t i, std::size_t) {
                  if (!at.begins(i)) return;
                  if constexpr (with_worker) {
                    f(at.worker);
                  } else {
                    f();
                  }
                }};
  perform(job, options_of_run());
  end();
}

template <class R, class F>
std::vector<R> Team::map(std::size_t n, F&& f) {
  check_task_types<R, F>();
  begin_report(options_.processes != 1);
  check_tasks(n);
  return with_memory_for(n, sizeof(R), [&] {
    std::vector<R> results;
    if constexpr (std::is_trivially_copyable_v<R>) {
      results = map_bytes<R>(n, f);
    } else {
      results = map_written<R>(n, f);
    }
    end();
    return results;
  });
}

template <class R, class F>
std::vector<R> Team::map_bytes(std::size_t n, F& f) {
  const SharedBlock block(bytes_of_results(n, sizeof(R), options_.most_result_bytes), "results");
  R* const results = reinterpret_cast<R*>(block.data());
  do_tasks(n, {.begin_run = [](std::size_t, bool) {},
               .do_tasks =
                   [&f, results](Progress& at, std::size_t begin, std::size_t end) {
                     for (std::size_t i = begin; i < end && at.begins(i); ++i) {
                       new (results + i) R(f(i));
                     }
                   },
               .finish = {},
               .end_run = [] {}});
  return {std::make_move_iterator(results), std::make_move_iterator(results + n)};
}

template <class R, class F>
std::vector<R> Team::map_written(std::size_t n, F& f) {
  std::vector<std::optional<R>> results(n);
  ReturnedResults returned(options_.most_result_bytes);
  do_tasks(n, {.begin_run = [&](std::size_t workers,
                                bool forked) { returned.begin_run(workers, forked); },
               .do_tasks =
                   [&](Progress& at, std::size_t begin, std::size_t end) {
                     for (std::size_t i = begin; i < end && at.begins(i); ++i) {
                       if (returned.forked()) {
                         const R result = f(i);
                         returned.put(at.worker.index, i, result);
                       } else {
                         results[i].emplace(f(i));
                       }
                     }
                   },
               .finish = [&](const Worker& worker) { returned.flush(worker.index); },
               .end_run =
                   [&] {
                     returned.take([&](std::size_t i, Reader& in) {
                       if (i >= n || results[i]) ReturnedResults::throw_damaged();
                       results[i].emplace(get_result<R>(in));
                     });
                   }});
  std::vector<R> moved;
  moved.reserve(n);
  for (std::optional<R>& result : results) moved.push_back(std::move(*result));
  return moved;
}

template <class R, class F, class Combine>
R Team::map_reduce(std::size_t n, F&& f, R initial, Combine&& combine) {
  check_task_types<R, F>();
  static_assert(std::is_invocable_r_v<R, Combine&, R, R>, "combine must be callable as R f(R, R)");
  begin_report(options_.processes != 1);
  check_tasks(n);
  return with_memory_for(n, sizeof(R), [&] {
    R result = reduce_written<R>(n, f, std::move(initial), combine);
    end();
    return result;
  });
}

template <class R, class F, class Combine>
R Team::reduce_written(std::size_t n, F& f, R initial, Combine& combine) {
  std::optional<R> result(std::move(initial));
  std::vector<std::optional<R>> values;  // of the workers of a run
  ReturnedResults returned(options_.most_result_bytes);
  const auto add = [&](R value) {
    result.emplace(users([&] { return R(combine(std::move(*result), std::move(value))); }));
  };
  do_tasks(n, {.begin_run =
                   [&](std::size_t workers, bool forked) {
                     values = std::vector<std::optional<R>>(workers);
                     returned.begin_run(workers, forked);
                   },
               .do_tasks =
                   [&](Progress& at, std::size_t begin, std::size_t end) {
                     std::optional<R>& kept = values[static_cast<std::size_t>(at.worker.index)];
                     // A local value: neighbours' values share cache lines.
                     std::optional<R> value(std::move(kept));
                     kept.reset();
                     for (std::size_t i = begin; i < end && at.begins(i); ++i) {
                       value.emplace(value ? R(combine(std::move(*value), f(i))) : R(f(i)));
                     }
                     if (value) kept.emplace(std::move(*value));
                   },
               .finish =
                   [&](const Worker& worker) {
                     const auto index = static_cast<std::size_t>(worker.index);
                     if (!returned.forked() || !values[index]) return;
                     returned.put(worker.index, index, *values[index]);
                     returned.flush(worker.index);
                   },
               .end_run =
                   [&] {
                     for (std::optional<R>& value : values) {
                       if (value) add(std::move(*value));
                     }
                     values.clear();
                     returned.take([&](std::size_t, Reader& in) { add(get_result<R>(in)); });
                   }});
  return std::move(*result);
}

template <class F>
Choice Team::choose(std::size_t n, F&& f, const Limits& limits) {
  static_assert(std::is_invocable_v<F&, std::size_t>,
                "the task must be callable as f(std::size_t i)");
  using R = std::remove_cvref_t<std::invoke_result_t<F&, std::size_t>>;
  ReturnedResults returned(std::nullopt);
  const auto do_one = [&](const Worker& worker, std::size_t i) {
    if constexpr (std::is_void_v<R>) {
      f(i);
    } else {
      const R result = f(i);
      core::keep(&result);
      // As map() returns it.
      if constexpr (!std::is_trivially_copyable_v<R> && Serialisable<R>) {
        returned.put(worker.index, i, result);
      }
    }
  };
  return choose_tasks(
      n,
      {.begin_run = [&](std::size_t workers, bool) { returned.begin_run(workers, true); },
       .do_tasks =
           [&](Progress& at, std::size_t begin, std::size_t end) {
             for (std::size_t i = begin; i < end && at.begins(i); ++i) do_one(at.worker, i);
           },
       .finish = [&](const Worker& worker) { returned.flush(worker.index); },
       .end_run =
           [&] {
             returned.take([](std::size_t, Reader& in) {
               if constexpr (!std::is_void_v<R> && Serialisable<R>) get_result<R>(in);
             });
           }},
      limits);
}

}  // namespace tabane::team
