// What the processes of a team share while they work: the next task, which worker is in which task,
// the first failure, and whether to stop. Lies in shared memory and holds no pointers.
//
// What one process stores with release, another loads with acquire:
//
//   failure_state  record_failure()   refused(), throw_failure()  the failure is written
//   workers_there  meet_workers()     meet_workers()              what each worker has done before
//   arrived        arrive()           wait_for_arrivals()         what the process has done
//   released       release()          arrive()                    what the caller has done
//
// Relaxed are the next task, which one worker gets in any order; the wish to stop, on which no data
// depend; and what the caller reads of processes that have ended, for which it has waited.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tabane/team/fork.h"
#include "tabane/team/job.h"

namespace tabane::team {

inline constexpr std::size_t kNoTask = SIZE_MAX;

struct ProcessRecord {
  std::atomic<pid_t> pid{0};          // 0: not forked
  std::atomic<bool> finished{false};  // has done all its work and is about to end
  std::atomic<bool> reaped{false};    // by its parent
  std::atomic<std::uint64_t> begin_ns{0};
  std::atomic<bool> place_taken{false};  // the place with this index, by any process
};

struct alignas(64) WorkerRecord {
  std::atomic<std::size_t> task{kNoTask};
  std::atomic<std::size_t> done{0};
  std::atomic<std::uint64_t> begin_ns{0}, end_ns{0};
};

// The call that a failure of fail_system() names where no process could be forked.
inline constexpr std::string_view kFork = "fork";

enum class FailureKind : int { none, task, system, lost };

// Plain memory, because a signal handler may write it and its reader may outlive the writer.
struct Failure {
  FailureKind kind = FailureKind::none;
  Loss loss;        // of other kinds: only the process
  int error = 0;    // of a system call: errno
  int thread = -1;  // -1: not known
  std::size_t task = kNoTask;
  char text[1024] = {};  // message, or the system call
  char operand[256] = {};
};

class Control {
 public:
  // throws: core::SystemError.
  Control(int processes, int threads);

  int processes() const { return processes_; }
  int threads() const { return threads_; }
  std::size_t workers() const { return workers_.size(); }
  ProcessRecord& process(int index) { return process_[static_cast<std::size_t>(index)]; }
  WorkerRecord& worker(int index) { return workers_[static_cast<std::size_t>(index)]; }
  std::span<WorkerRecord> all_workers() { return workers_; }

  std::atomic<std::size_t>& next_task() { return head_->next_task; }
  std::atomic<bool>& stop() { return head_->stop; }
  std::atomic<int>& unbound_workers() { return head_->unbound_workers; }

  // Records the first failure and stops the team; later failures change nothing.
  void fail_task(const Worker& worker, std::string_view message);
  void fail_system(int process, std::string_view call, std::string_view operand, int code);
  // Async-signal-safe. thread: -1 if not known.
  void lose(const Loss& loss, int thread = -1);
  bool failed() const { return head_->failure_state.load(std::memory_order_relaxed) != 0; }
  // Tells whether the failure is a call that the system refused.
  bool refused() const {
    return head_->failure_state.load(std::memory_order_acquire) == 2 &&
           head_->failure.kind == FailureKind::system;
  }

  // Throws the recorded failure, if there is one. Only when no other process is left.
  void throw_failure();

  // Waits until all workers have called this or the team stops.
  void meet_workers();

  // In a process: reports that all its work is done and waits for release().
  void arrive();
  // In the caller: waits up to `seconds` for more arrivals. Returns whether all have arrived.
  bool wait_for_arrivals(double seconds);
  void release();

 private:
  struct Head {
    alignas(64) std::atomic<std::size_t> next_task{0};
    alignas(64) std::atomic<bool> stop{false};
    std::atomic<int> failure_state{0};  // 0 none, 1 being written, 2 there
    std::atomic<int> unbound_workers{0};
    alignas(64) std::atomic<std::uint32_t> workers_there{0};
    std::atomic<std::uint32_t> arrived{0};   // futex
    std::atomic<std::uint32_t> released{0};  // futex
    Failure failure;
  };
  bool stops() const { return head_->stop.load(std::memory_order_relaxed); }
  template <class Fill>
  void record_failure(const Fill& fill);
  std::string phase_of(const Failure& failure);

  int processes_, threads_;
  SharedBlock block_;
  Head* head_;
  std::span<ProcessRecord> process_;
  std::span<WorkerRecord> workers_;
};

// How many tasks a worker takes at once: enough that taking them costs little, few enough that all
// workers end together.
class ChunkSize {
 public:
  explicit ChunkSize(std::size_t workers) : workers_(workers) {}

  std::size_t now() const { return size_; }

  // Adapts to the chunk just done. taken: > 0; left: tasks not yet handed out.
  // Aims at kAimNs a chunk; grows at most twofold, since a single time may be an accident; takes
  // never more than a quarter of a worker's even share of what is left.
  void adapt(std::uint64_t ns, std::size_t taken, std::size_t left) {
    const std::uint64_t task_ns = std::max<std::uint64_t>(1, ns / taken);
    const auto wanted = static_cast<std::size_t>(kAimNs / task_ns);
    const std::size_t fair = left / workers_ / 4;
    size_ = std::max<std::size_t>(1, std::min({wanted, 2 * size_, fair, kMost}));
  }

  static constexpr std::uint64_t kAimNs = 32'000;
  static constexpr std::size_t kMost = std::size_t{1} << 20;

 private:
  std::size_t workers_;
  std::size_t size_ = 1;
};

// The system calls that a fresh process makes before and after its work, all made through one
// function: a process that was just forked takes a page fault for each 64 KiB of code that it
// touches first, and the C library's own functions for them are spread over half a megabyte.

// As now_ns(), but a few times slower and without the pages of the vDSO.
inline std::uint64_t fresh_now_ns() {
  timespec time{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

inline void die_with_parent(int signal_number) {
  syscall(SYS_prctl, PR_SET_PDEATHSIG, signal_number, 0, 0, 0);
}

// The PU on which the calling thread runs, by os index.
inline unsigned current_pu() {
  unsigned pu = 0;
  syscall(SYS_getcpu, &pu, nullptr, nullptr);
  return pu;
}

// Binds the calling thread. Returns false if the system refuses.
inline bool bind_to(const cpu_set_t& pus) {
  return syscall(SYS_sched_setaffinity, 0, sizeof(pus), &pus) >= 0;
}

}  // namespace tabane::team
