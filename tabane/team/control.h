// What the processes of a team share while they work: the next task, which worker is in which task,
// the first failure, and whether to stop. Lies in shared memory and holds no pointers.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tabane/team/job.h"
#include "tabane/team/shared_block.h"

namespace tabane::team {

inline constexpr std::size_t kNoTask = SIZE_MAX;

// Nanoseconds of CLOCK_MONOTONIC, which all processes share. cost: a few tens of nanoseconds.
std::uint64_t now_ns();
// Of the same clock.
inline double seconds_since(std::uint64_t begin_ns) {
  return static_cast<double>(now_ns() - begin_ns) * 1e-9;
}

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
  int process = 0;
  int thread = -1;  // -1: not known
  std::size_t task = kNoTask;
  pid_t pid = 0;
  bool by_signal = false;
  int code = 0;          // errno, signal or exit status
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
  void lose(int process, int thread, pid_t pid, bool by_signal, int code);
  bool failed() const { return head_->failure_state.load() != 0; }
  // Tells whether the failure is a call that the system refused.
  bool refused() const {
    return head_->failure_state.load() == 2 && head_->failure.kind == FailureKind::system;
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
  Failure* claim_failure();
  void publish_failure();
  [[noreturn]] void throw_loss(const Failure& failure);
  std::string phase_of(const Failure& failure);

  int processes_, threads_;
  SharedBlock block_;
  Head* head_;
  std::span<ProcessRecord> process_;
  std::span<WorkerRecord> workers_;
};

}  // namespace tabane::team
