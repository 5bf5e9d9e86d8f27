#include "tabane/team/worker_loop.h"

#include <algorithm>
#include <exception>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/team/chunk_size.h"
#include "tabane/team/fresh_process.h"
#include "tabane/team/result_file.h"

namespace tabane::team {
namespace {

thread_local const Worker* current_worker = nullptr;

class CurrentWorker {
 public:
  explicit CurrentWorker(const Worker& worker) : before_(current_worker) {
    current_worker = &worker;
  }
  ~CurrentWorker() { current_worker = before_; }
  CurrentWorker(const CurrentWorker&) = delete;
  CurrentWorker& operator=(const CurrentWorker&) = delete;

 private:
  const Worker* before_;
};

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

}  // namespace

void work(const Job& job, Control& control, const Worker& worker, std::span<const unsigned> pus) {
  const CurrentWorker current(worker);
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
}

const Worker* this_worker() { return current_worker; }

}  // namespace tabane::team
