#include "tabane/team/team.h"

#include <algorithm>

#include "tabane/team/control.h"
#include "tabane/team/fork_cost.h"
#include "tabane/team/places.h"

namespace tabane::team {
namespace {

constexpr int kMostWorkers = 65'536;

void check_number(const char* name, int number) {
  if (number >= 0) return;
  throw core::UsageError(std::string("a team of ") + name + " = " + std::to_string(number) +
                         " cannot be: give 1 to " + std::to_string(kMostWorkers) +
                         ", or 0 for automatic");
}

void check_product(int processes, int threads) {
  if (static_cast<long long>(processes) * threads <= kMostWorkers) return;
  throw core::UsageError("a team of " + std::to_string(processes) + " processes x " +
                         std::to_string(threads) + " threads is too large: their product can be " +
                         std::to_string(kMostWorkers) + " at most");
}

void check_tasks(std::size_t n) {
  if (n <= SIZE_MAX / 2) return;
  throw core::UsageError("a team cannot do n = " + std::to_string(n) +
                         " tasks, which looks like a negative number: give 0 to " +
                         std::to_string(SIZE_MAX / 2));
}

int threads_to_fill_pus(int processes) {
  const int pus = static_cast<int>(known_topology().pus().size());
  return std::max(1, pus / processes);
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

JobOptions Team::job_options() const {
  return {.placement = options_.placement,
          .fork = options_.fork,
          .allow_other_threads = options_.allow_other_threads,
          .measure_memory = options_.measure_memory};
}

Team::Size Team::begin(std::size_t n, const std::function<Choice()>& choose) {
  begin_ns_ = now_ns();
  report_ = {};
  check_tasks(n);
  if (options_.prepare_memory && options_.processes != 1) {
    const Preparation prepared = prepare_for_fork();
    if (!prepared.remark.empty()) report_.remarks.push_back(prepared.remark);
  }
  Shape shape{options_.processes, options_.threads};
  if (shape.processes == automatic || shape.threads == automatic) {
    if (n < 2) {
      shape = {std::max(1, shape.processes), std::max(1, shape.threads)};
    } else {
      report_.choice = choose();
      shape = shape_with(*report_.choice, shape.processes, shape.threads);
    }
  }
  Size size{shape.processes, shape.threads, shape.processes > 1};
  if (n > 0 && static_cast<std::size_t>(size.processes) > n) {
    size.processes = static_cast<int>(n);
    report_.remarks.push_back(std::to_string(n) +
                              (n == 1 ? " task: 1 process" : " tasks: as many processes") +
                              " instead of " + std::to_string(shape.processes) + ".");
  }
  return size;
}

Team::Size Team::begin_run() {
  begin_ns_ = now_ns();
  report_ = {};
  if (options_.prepare_memory && options_.processes > 1) prepare_for_fork();
  const int processes = std::max(1, options_.processes);
  const int threads =
      options_.threads != automatic ? options_.threads : threads_to_fill_pus(processes);
  return {processes, threads, processes > 1};
}

void Team::perform(const Job& job, const Size& size) {
  report_.processes = size.processes;
  report_.threads = size.threads;
  if (job.tasks == 0 && !job.once_per_worker) {
    report_.tasks.assign(static_cast<std::size_t>(size.workers()), 0);
    return;
  }
  JobOptions options = job_options();
  options.processes = size.processes;
  options.threads = size.threads;
  options.forked = size.forked;
  JobReport done = run_job(job, options);
  report_.fork_seconds = done.fork_seconds;
  report_.join_seconds = done.join_seconds;
  report_.tasks = std::move(done.tasks);
  report_.shared_share = done.shared_share;
  report_.remarks.insert(report_.remarks.end(), done.remarks.begin(), done.remarks.end());
}

void Team::end() { report_.seconds = static_cast<double>(now_ns() - begin_ns_) * 1e-9; }

}  // namespace tabane::team
