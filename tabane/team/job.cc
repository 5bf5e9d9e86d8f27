#include "tabane/team/job.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/topology.h"
#include "tabane/team/control.h"
#include "tabane/team/places.h"
#include "tabane/team/proc.h"
#include "tabane/team/process_tree.h"
#include "tabane/team/result_file.h"

namespace tabane::team {
namespace {

thread_local const Worker* current_worker = nullptr;

// As core::bind_this_thread(), but a fresh process allocates nothing and looks nothing up for it:
// each page that it touches first is a fault. Returns false if the system refuses.
bool bind(std::span<const unsigned> pus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned pu : pus) {
    if (pu >= CPU_SETSIZE) {
      try {
        core::bind_this_thread(pus);
        return true;
      } catch (const core::SystemError&) {
        return false;
      }
    }
    CPU_SET(pu, &set);
  }
  return pus.empty() || bind_to(set);
}

void do_chunks(const Job& job, Control& control, Progress& progress, WorkerRecord& record) {
  ChunkSize chunk(control.workers());
  std::size_t done = 0;
  std::uint64_t before = now_ns();
  while (!control.stop().load(std::memory_order_relaxed)) {
    if (job.enough != nullptr && job.enough->load(std::memory_order_relaxed)) break;
    const std::size_t begin = control.next_task().fetch_add(chunk.now(), std::memory_order_relaxed);
    if (begin >= job.tasks) break;
    const std::size_t end = begin + std::min(chunk.now(), job.tasks - begin);
    job.do_tasks(progress, begin, end);
    done += end - begin;
    const std::uint64_t after = now_ns();
    chunk.adapt(after - before, end - begin, job.tasks - end);
    before = after;
  }
  record.done.store(done);
}

void do_job(const Job& job, Control& control, const Worker& worker, WorkerRecord& record) {
  if (job.begin_together) control.meet_workers();
  record.begin_ns.store(fresh_now_ns());
  Progress progress(worker, record.task, control.stop());
  if (job.once_per_worker) {
    const auto index = static_cast<std::size_t>(worker.index);
    job.do_tasks(progress, index, index + 1);
    record.done.store(1);
  } else {
    do_chunks(job, control, progress, record);
  }
  if (job.finish && !control.stop().load()) job.finish(worker);
  record.task.store(kNoTask);
  record.end_ns.store(fresh_now_ns());
}

void work(const Job& job, Control& control, const Worker& worker, std::span<const unsigned> pus) {
  const Worker* const before = std::exchange(current_worker, &worker);
  // The cpuset may have shrunk after the plan was made: the work can be done unbound.
  if (!bind(pus)) control.unbound_workers().fetch_add(1);
  try {
    do_job(job, control, worker, control.worker(worker.index));
  } catch (const ResultError& error) {
    control.fail_system(worker.process, error.call(), error.operand(), error.code());
  } catch (const std::exception& error) {
    control.fail_task(worker, error.what());
  } catch (...) {
    control.fail_task(worker, "an exception that is not a std::exception");
  }
  control.worker(worker.index).task.store(kNoTask);
  current_worker = before;
}

double seconds_between(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return end_ns > begin_ns ? static_cast<double>(end_ns - begin_ns) * 1e-9 : 0;
}

// Returns the index of a free place and takes it: the one on which the process already runs if
// possible, for to move may cost more than to fork. One is free: there are as many as processes.
int take_place(Control& control, const core::Placement& places, int process) {
  const unsigned pu = current_pu();
  const auto take = [&](int place) { return !control.process(place).place_taken.exchange(true); };
  for (int p = 0; p < places.processes; ++p) {
    const std::vector<unsigned>& pus = places.at(p, 0).pus;
    if (std::ranges::find(pus, pu) != pus.end() && take(p)) return p;
  }
  for (int i = 0; i < places.processes; ++i) {
    const int p = (process + i) % places.processes;
    if (take(p)) return p;
  }
  return process;
}

// On all threads of one process, the calling one among them.
void work_on_threads(const Job& job, Control& control, const core::Placement& places, int process,
                     int place) {
  const auto serve = [&](int thread) {
    const Worker worker{process, thread, process * control.threads() + thread};
    work(job, control, worker, places.at(place, thread).pus);
  };
  std::vector<std::thread> others;
  try {
    others.reserve(static_cast<std::size_t>(control.threads() - 1));
    for (int t = 1; t < control.threads(); ++t) others.emplace_back(serve, t);
  } catch (const std::system_error& error) {
    control.fail_system(
        process, "pthread_create",
        "worker " + std::to_string(others.size() + 1) + " of process " + std::to_string(process),
        error.code().value());
  } catch (const std::bad_alloc&) {
    control.fail_system(process, "memory", "the threads of a team", ENOMEM);
  }
  serve(0);
  for (std::thread& other : others) other.join();
}

std::optional<double> measure_shared_share(Control& control, ProcessTree& tree) {
  constexpr double kPauseSeconds = 0.01;
  while (!control.wait_for_arrivals(kPauseSeconds)) {
    if (control.stop().load() || tree.has_lost()) return {};
  }
  std::vector<pid_t> pids;
  for (int p = 0; p < control.processes(); ++p) pids.push_back(control.process(p).pid.load());
  const SharedMemory memory = shared_memory(pids);
  if (memory.resident == 0) return {};
  return memory.shared_share();
}

void run_processes(const Job& job, const JobOptions& options, Control& control,
                   const core::Placement& places, JobReport& report) {
  const std::uint64_t begin = now_ns();
  const bool any_place = !options.fixed_places && options.threads == 1 && !places.oversubscribed &&
                         places.policy != core::PlacementPolicy::none;
  const LossListener* const listener = options.loss_listener ? &*options.loss_listener : nullptr;
  ProcessTree tree(control, options.fork, listener, [&](int process) {
    const int place = any_place ? take_place(control, places, process) : process;
    work_on_threads(job, control, places, process, place);
    // One that begins late need not move then.
    if (any_place) control.process(place).place_taken.store(false);
    if (options.measure_memory && !control.stop().load()) control.arrive();
  });
  tree.start();
  if (options.measure_memory) {
    report.shared_share = measure_shared_share(control, tree);
    control.release();
  }
  tree.wait();
  std::uint64_t last_begin = begin;
  for (int p = 0; p < control.processes(); ++p) {
    last_begin = std::max(last_begin, control.process(p).begin_ns.load());
  }
  report.fork_seconds = seconds_between(begin, last_begin);
}

void read_workers(Control& control, JobReport& report) {
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;
  for (const WorkerRecord& record : control.all_workers()) {
    report.tasks.push_back(record.done.load());
    first = std::min(first, record.begin_ns.load());
    last = std::max(last, record.end_ns.load());
  }
  report.work_seconds = seconds_between(first, last);
  report.join_seconds = seconds_between(last, now_ns());
}

// Tells at once that this process has one thread only; false: look closer.
bool is_alone() {
  struct stat tasks {};
  // A directory links to itself and is linked to by its parent and by each directory in it.
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

void check_complete(const Job& job, const JobReport& report) {
  std::size_t done = 0;
  for (const std::size_t tasks : report.tasks) done += tasks;
  const std::size_t planned = job.once_per_worker ? report.tasks.size() : job.tasks;
  if (done == planned || (job.enough != nullptr && job.enough->load())) return;
  throw core::Error("{} of {} tasks of a team were not done, and nobody said why", planned - done,
                    planned);
}

}  // namespace

const Worker* this_worker() { return current_worker; }

std::string running_threads() {
  if (is_alone()) return {};
  // A thread that was joined is still listed for a moment.
  constexpr int kTries = 10;
  constexpr std::size_t kMostNamed = 8;
  constexpr timespec kMoment{0, 2'000'000};
  std::vector<std::string> others = other_threads();
  for (int i = 0; i < kTries && !others.empty(); ++i) {
    nanosleep(&kMoment, nullptr);
    others = other_threads();
  }
  if (others.empty()) return {};
  std::string text = std::to_string(others.size()) +
                     (others.size() == 1 ? " other thread runs: " : " other threads run: ");
  for (std::size_t i = 0; i < std::min(others.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + others[i];
  }
  if (others.size() > kMostNamed) text += ", …";
  std::string pools;
  for (const std::string& name : pool_libraries()) pools += (pools.empty() ? "" : ", ") + name;
  return pools.empty() ? text : text + " (loaded, and may keep threads: " + pools + ")";
}

void require_no_other_threads() {
  const std::string others = running_threads();
  if (others.empty()) return;
  throw OtherThreads(
      "a team cannot fork while other threads run, for a lock that one of them holds would stay "
      "locked in the children; " +
          others +
          ". Start them after the team's work, or end them before (OpenMP: "
          "omp_pause_resource_all), or set allow_other_threads if the tasks use neither their "
          "locks "
          "nor their pool (with OpenMP they would wait for ever)",
      others);
}

JobReport run_job(const Job& job, const JobOptions& options) {
  if (options.forked && !options.allow_other_threads) require_no_other_threads();
  JobReport report;
  const core::Placement places = plan_places(options.placement, options.processes, options.threads);
  if (!places.remark.empty()) report.remarks.push_back(places.remark);
  Control control(options.processes, options.threads);
  if (options.forked) {
    run_processes(job, options, control, places, report);
  } else {
    const core::ScopedBinding keep(std::span<const unsigned>{});  // the caller's
    work_on_threads(job, control, places, 0, 0);
  }
  control.throw_failure();
  read_workers(control, report);
  check_complete(job, report);
  if (const int unbound = control.unbound_workers().load(); unbound > 0) {
    report.remarks.push_back(std::to_string(unbound) +
                             " workers could not be bound to their PUs and ran unbound.");
  }
  return report;
}

}  // namespace tabane::team
