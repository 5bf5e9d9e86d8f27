// What a team does, without the types of tasks and results: it is called once for a whole chunk of
// tasks, so that the loop over them is compiled together with the task.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace tabane::team {

// Where a task runs.
struct Worker {
  int process = 0;  // 0 … processes - 1
  int thread = 0;   // 0 … threads - 1, in the process
  int index = 0;    // process * threads + thread
};

// What a worker tells while it is in a chunk.
class Progress {
 public:
  Progress(const Worker& on, std::atomic<std::size_t>& task, const std::atomic<bool>& stop)
      : worker(on), task_(task), stop_(stop) {}

  // Notes the task that begins, for the message if the process dies in it. Returns false if the
  // team has stopped and nothing more shall begin.
  bool begins(std::size_t task) {
    task_.store(task, std::memory_order_relaxed);
    // The note is in memory before anything in the task can fault.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return !stop_.load(std::memory_order_relaxed);
  }

  const Worker worker;

 private:
  std::atomic<std::size_t>& task_;
  const std::atomic<bool>& stop_;
};

struct Job {
  // Tasks 0 … tasks - 1 are handed out in chunks; or, for once_per_worker, each worker has one task
  // with its own index.
  std::size_t tasks = 0;
  bool once_per_worker = false;
  bool begin_together = false;  // no task begins before all workers are there
  std::function<void(Progress&, std::size_t begin, std::size_t end)> do_tasks;
  std::function<void(const Worker&)> finish;  // after the worker's last chunk; may be empty
};

}  // namespace tabane::team
