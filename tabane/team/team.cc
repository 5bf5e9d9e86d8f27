#include "tabane/team/team.h"

#include <algorithm>
#include <cerrno>

#include "tabane/core/units.h"
#include "tabane/team/memory_map.h"
#include "tabane/team/places.h"

namespace tabane::team {
namespace {

constexpr int kMostWorkers = 65'536;

void check_number(const char* name, int number) {
  if (number >= 0) return;
  throw core::UsageError("a team of {} = {} cannot be: give 1 to {}, or 0 for automatic", name,
                         number, kMostWorkers);
}

void check_product(int processes, int threads) {
  if (static_cast<long long>(processes) * threads <= kMostWorkers) return;
  throw core::UsageError(
      "a team of {} processes x {} threads is too large: their product can be {} at most",
      processes, threads, kMostWorkers);
}

int threads_to_fill_pus(int processes) {
  const int pus = static_cast<int>(known_topology().pus().size());
  return std::max(1, pus / processes);
}

// The reason for threads that began work and went on with it. waiting: with more of them, because
// the tasks do not use the PUs.
std::string reason_for_begun(const Choice& choice, double seconds, bool waiting) {
  const std::string unknown = "; how long it will take here is not known";
  if (waiting) {
    return "the tasks wait for something other than a PU: " + std::to_string(choice.shape.threads) +
           " threads of one process" + unknown;
  }
  return "too little work for a sample: all of it takes " + core::format_seconds(seconds) +
         " with " + std::to_string(choice.shape.threads) +
         " threads of one process, which began it" + unknown;
}

// The best of the weighed shapes that has the numbers that are given.
Shape shape_with(const Choice& choice, int processes, int threads) {
  for (const Prediction& one : choice.alternatives) {
    if ((processes == automatic || one.shape.processes == processes) &&
        (threads == automatic || one.shape.threads == threads)) {
      return one.shape;
    }
  }
  if (processes != automatic) return {processes, threads_to_fill_pus(processes)};
  if (threads != automatic) return {threads_to_fill_pus(threads), threads};
  return choice.shape;
}

}  // namespace

void check_tasks(std::size_t n) {
  if (n <= SIZE_MAX / 2) return;
  throw core::UsageError(
      "a team cannot do n = {} tasks, which looks like a negative number: give 0 to {}", n,
      SIZE_MAX / 2);
}

void throw_no_memory(std::size_t n, std::size_t each) {
  throw core::SystemError("memory for results",
                          std::to_string(n) + " results of a team, of " + std::to_string(each) +
                              " bytes each and what they refer to",
                          ENOMEM);
}

Team::Team(TeamOptions options) : options_(std::move(options)) {
  check_number("processes", options_.processes);
  check_number("threads", options_.threads);
  check_product(options_.processes, options_.threads);
  // Reads the machine now rather than in the first run.
  if (options_.processes != automatic && options_.threads != automatic) {
    plan_places(options_.placement, options_.processes, options_.threads);
  } else {
    known_topology();
  }
}

JobOptions Team::job_options(Shape shape, bool forked) const {
  return {.processes = shape.processes,
          .threads = shape.threads,
          .forked = forked,
          .placement = options_.placement,
          .fork = options_.fork,
          .allow_other_threads = options_.allow_other_threads,
          .measure_memory = options_.measure_memory};
}

void Team::begin_report(bool may_fork) {
  begin_ns_ = now_ns();
  report_ = {};
  if (!options_.prepare_memory || !may_fork) return;
  const Preparation prepared = prepare_for_fork();
  if (!prepared.remark.empty()) report_.remarks.push_back(prepared.remark);
}

JobOptions Team::options_of_run() const {
  const int processes = std::max(1, options_.processes);
  const int threads =
      options_.threads != automatic ? options_.threads : threads_to_fill_pus(processes);
  return job_options({processes, threads}, processes > 1);
}

// Never more processes than tasks.
JobOptions Team::within(Shape shape, std::size_t n) {
  const int given = shape.processes;
  if (n > 0 && static_cast<std::size_t>(given) > n) {
    shape.processes = static_cast<int>(n);
    report_.remarks.push_back(std::to_string(n) +
                              (n == 1 ? " task: 1 process" : " tasks: as many processes") +
                              " instead of " + std::to_string(given) + ".");
  }
  return job_options(shape, given > 1);
}

void Team::do_tasks(std::size_t n, const TaskSet& tasks) {
  const bool is_given = options_.processes != automatic && options_.threads != automatic;
  if (is_given || n < 2) {
    const Shape shape{std::max(1, options_.processes), std::max(1, options_.threads)};
    const JobOptions options = within(shape, n);
    tasks.begin_run(options.workers(), options.forked);
    perform({.tasks = n, .do_tasks = tasks.do_tasks, .finish = tasks.finish}, options);
    tasks.end_run();
  } else {
    do_chosen(n, tasks);
  }
}

// A number that is given may mean that tasks must not share a process.
bool Team::caller_may_work() const {
  return options_.processes <= 1 && options_.threads == automatic;
}

void Team::do_chosen(std::size_t n, const TaskSet& tasks) {
  StartedWork work(n, tasks, job_options({}, false),
                   caller_may_work() ? Trial::begins : Trial::keeps);
  try {
    report_.choice = choose_started(work, n);
  } catch (const ForkRefused& refusal) {
    if (options_.processes != automatic) throw;
    return finish_with_threads(work, refusal.what());
  } catch (const OtherThreads& refusal) {
    if (options_.processes != automatic) throw;
    return finish_with_threads(work, refusal.others());
  }
  report_.choice->sample_seconds = seconds_since(begin_ns_);
  if (work.left() == 0) {
    report_.choice->sample_seconds = 0;
    return;
  }
  finish(work, shape_of(*report_.choice, work.left()));
}

Choice Team::choose_started(StartedWork& work, std::size_t n) {
  const int pus = static_cast<int>(known_topology().pus().size());
  const Limits limits{.most_processes = options_.processes};
  if (caller_may_work() && n > static_cast<std::size_t>(pus) && pus > 1) {
    JobReport begun = work.begin(pus, limits);
    Choice choice{.shape = {1, pus}};
    if (work.left() == 0) {
      choice.reason = reason_for_begun(choice, begun.work_seconds, false);
      take(std::move(begun), job_options(choice.shape, false));
      return choice;
    }
    if (!work.samples() && !work.waits()) {
      choice.shape.threads = static_cast<int>(std::min<std::size_t>(pus, work.left()));
      choice.reason = reason_for_begun(choice, begun.work_seconds + work.seconds(), false);
      return choice;
    }
    if (work.waits()) {
      choice.shape.threads = static_cast<int>(std::min<std::size_t>(2 * pus, work.left()));
      choice.reason = reason_for_begun(choice, begun.work_seconds, true);
      return choice;
    }
  }
  return choose_shape(known_topology(), work.left(), work, limits);
}

// What is chosen, with the numbers that are given.
Shape Team::shape_of(const Choice& choice, std::size_t n) const {
  Shape shape = shape_with(choice, options_.processes, options_.threads);
  if (options_.threads == automatic) {
    const auto processes = static_cast<std::size_t>(shape.processes);
    shape.threads = static_cast<int>(
        std::min(static_cast<std::size_t>(shape.threads), (n + processes - 1) / processes));
  }
  return shape;
}

// The choice is what is done.
void Team::keep_to(Choice& choice, Shape shape) const {
  if (choice.shape == shape) return;
  const bool is_given = options_.processes != automatic || options_.threads != automatic;
  choice.reason = text_of(shape) +
                  (is_given ? ", because a number is given" : ", because few tasks are left") +
                  "; the choice would be " + text_of(choice.shape) + ": " + choice.reason;
  choice.shape = shape;
  const auto begin = choice.alternatives.begin();
  const auto same = std::find_if(begin, choice.alternatives.end(),
                                 [&](const Prediction& one) { return one.shape == shape; });
  if (same == choice.alternatives.end()) {
    choice.predicted.reset();
  } else {
    std::rotate(begin, same, same + 1);
    if (choice.predicted) choice.predicted = choice.alternatives.front();
  }
}

void Team::finish(StartedWork& work, Shape shape) {
  const JobOptions options = within(shape, work.left());
  keep_to(*report_.choice, {options.processes, options.threads});
  try {
    take(work.finish(options), options);
  } catch (const ForkRefused& refusal) {
    if (options_.processes != automatic) throw;
    finish_with_threads(work, refusal.what());
  } catch (const OtherThreads& refusal) {
    if (options_.processes != automatic) throw;
    finish_with_threads(work, refusal.others());
  }
}

void Team::finish_with_threads(StartedWork& work, const std::string& why) {
  const int threads = options_.threads != automatic ? options_.threads : threads_to_fill_pus(1);
  const Shape shape{
      1, static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), work.left()))};
  report_.remarks.push_back("One process with threads, because no process can be forked: " + why +
                            ".");
  if (!report_.choice) report_.choice.emplace();
  report_.choice->shape = shape;
  report_.choice->reason = "threads of one process, because no process can be forked";
  report_.choice->predicted.reset();
  const JobOptions options = job_options(shape, false);
  take(work.finish(options), options);
}

void Team::perform(const Job& job, const JobOptions& options) {
  const bool is_empty = job.tasks == 0 && !job.once_per_worker;
  take(is_empty ? JobReport{.tasks = std::vector<std::size_t>(options.workers())}
                : run_job(job, options),
       options);
}

void Team::take(JobReport done, const JobOptions& options) {
  done.remarks.insert(done.remarks.begin(), report_.remarks.begin(), report_.remarks.end());
  static_cast<JobReport&>(report_) = std::move(done);
  report_.processes = options.processes;
  report_.threads = options.threads;
}

void Team::end() { report_.seconds = seconds_since(begin_ns_); }

}  // namespace tabane::team
