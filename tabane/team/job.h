// What a team does, without the types of tasks and results. A job is called once per chunk of
// tasks, so that the loop over the chunk is compiled together with the task.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace tabane::team {

// The worker that runs a task.
struct Worker {
  int process = 0;  // 0 … processes - 1
  int thread = 0;   // 0 … threads - 1, within the process
  int index = 0;    // process * threads + thread
};

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

}  // namespace tabane::team
