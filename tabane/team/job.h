// What a team does, without the types of tasks and results, and running it on processes × threads.
// A job is called once per chunk of tasks, so that the loop over the chunk is compiled together
// with the task.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/placement.h"
#include "tabane/team/fork.h"

namespace tabane::team {

// Nanoseconds of CLOCK_MONOTONIC, which all processes share. cost: a few tens of nanoseconds.
inline std::uint64_t now_ns() { return core::clock_ns(CLOCK_MONOTONIC); }
// Of the same clock.
inline double seconds_since(std::uint64_t begin_ns) {
  return static_cast<double>(now_ns() - begin_ns) * 1e-9;
}

// The worker that runs a task.
struct Worker {
  int process = 0;  // 0 … processes - 1
  int thread = 0;   // 0 … threads - 1, within the process
  int index = 0;    // process * threads + thread
};

// Returns the worker that the calling thread is; null outside of a job. Lives as long as the
// worker works.
const Worker* this_worker();

// Through this a worker reports which task of a chunk it is in.
class Progress {
 public:
  Progress(const Worker& on, std::atomic<std::size_t>& task, const std::atomic<bool>& stop)
      : worker(on), task_(task), stop_(stop) {}

  // Notes the task that begins, so that an error can name it if the process dies there. Returns
  // false if the team has stopped and the task must not begin.
  bool begins(std::size_t task) {
    task_.store(task, std::memory_order_relaxed);
    // A fault in the task must find the note in memory.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return !stop_.load(std::memory_order_relaxed);
  }

  const Worker worker;

 private:
  std::atomic<std::size_t>& task_;
  const std::atomic<bool>& stop_;
};

struct Job {
  // Tasks 0 … tasks - 1 are handed out in chunks. With once_per_worker each worker does one task,
  // which has the worker's index.
  std::size_t tasks = 0;
  bool once_per_worker = false;
  bool begin_together = false;  // no task begins before all workers are ready
  std::function<void(Progress&, std::size_t begin, std::size_t end)> do_tasks;
  std::function<void(const Worker&)> finish;  // after the worker's last chunk; may be empty
  // Once it is true no more tasks are handed out, so that tasks 0, 1 … up to some task are done.
  // Null: all are. Only without other processes.
  const std::atomic<bool>* enough = nullptr;
};

// A task threw. what() holds the number of the task and the message of its exception.
class TaskError : public core::Error {
 public:
  TaskError(std::size_t task, const std::string& message)
      : Error("task " + std::to_string(task) + " failed: " + message), task_(task) {}
  std::size_t task() const { return task_; }

 private:
  std::size_t task_;
};

// The system has refused to fork a process of a team.
class ForkRefused : public core::SystemError {
 public:
  ForkRefused(std::string_view operand, int code) : SystemError("fork", operand, code) {}
};

// Other threads of this process forbid a fork.
class OtherThreads : public core::UsageError {
 public:
  // others: as running_threads() names them.
  OtherThreads(const std::string& message, std::string others)
      : UsageError(message), others_(std::move(others)) {}
  const std::string& others() const { return others_; }

 private:
  std::string others_;
};

// The code of a process whose end another wait has taken, where the kernel does not keep it.
inline constexpr int kEndUnknown = -1;

struct Loss {
  int process = 0;
  pid_t pid = 0;
  bool by_signal = false;
  int code = 0;  // the signal, the exit status, or kEndUnknown
};

// Without a listener, the loss of a process ends the others at once. With one, it is called
// in the others, which may continue for grace_seconds. An exception in one of them has the same
// effect.
struct LossListener {
  // Called in the process that noticed the loss, perhaps several times for one loss and perhaps in
  // exit(), so it must not allocate. It must be callable, and context readable, in all processes of
  // the team.
  void (*lost)(void* context, const Loss& loss) = nullptr;
  void* context = nullptr;
  double grace_seconds = 5;
};

struct JobOptions {
  int processes = 1, threads = 1;
  bool forked = false;  // false only with one process: the caller and its threads do the job
  core::PlacementPolicy placement = core::PlacementPolicy::per_numa_node;
  ForkOrder fork = ForkOrder::tree;
  // If true, process p is bound to place p of the placement. Otherwise processes of one thread take
  // any free place, and prefer the one on which they began.
  bool fixed_places = false;
  bool allow_other_threads = false;
  bool measure_memory = false;
  std::optional<LossListener> loss_listener = {};

  std::size_t workers() const {
    return static_cast<std::size_t>(processes) * static_cast<std::size_t>(threads);
  }
};

struct JobReport {
  // From the first fork until the last process existed; 0: none was forked.
  double fork_seconds = 0;
  double work_seconds = 0;         // from the first worker's first task to the last worker's end
  double join_seconds = 0;         // from the last worker's end until all processes were gone
  std::vector<std::size_t> tasks;  // done by each worker, by Worker::index
  std::optional<double> shared_share;  // of the processes' memory, 0 … 1, if measure_memory
  std::vector<std::string> remarks;    // "4 workers share 2 PUs: they take turns."
};

// throws: TaskError, core::LostError, core::SystemError, OtherThreads, as Team::map(); no process
// is left then.
JobReport run_job(const Job& job, const JobOptions& options);

// The other threads of this process, as "2 other threads run: 4711 (worker), 4712 (worker)"; empty
// if there are none. throws: core::SystemError if /proc cannot be read. cost: one system call if
// there are none.
std::string running_threads();

// throws: OtherThreads that names the other threads of this process, if there are any.
void require_no_other_threads();

}  // namespace tabane::team
