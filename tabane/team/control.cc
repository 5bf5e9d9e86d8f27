#include "tabane/team/control.h"

#include <linux/futex.h>
#include <string.h>

#include <climits>
#include <new>

#include "tabane/core/error.h"

namespace tabane::team {
namespace {

static_assert(std::atomic<std::size_t>::is_always_lock_free &&
              std::atomic<pid_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

constexpr double kLookAgainSeconds = 0.005;

std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

template <std::size_t N>
void copy_text(char (&to)[N], std::string_view from) {
  const std::size_t length = std::min(from.size(), N - 1);
  std::copy_n(from.data(), length, to);
  to[length] = '\0';
}

// Not FUTEX_PRIVATE: the waiters are other processes.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, double seconds) {
  const timespec time{
      static_cast<time_t>(seconds),
      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::string how_it_ended(const Loss& loss) {
  if (!loss.by_signal && loss.code == kEndUnknown) {
    return "its end was taken by another wait, or by SIGCHLD being ignored";
  }
  if (!loss.by_signal) return "exited with status " + std::to_string(loss.code);
  const char* const name = strsignal(loss.code);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  return "killed by signal " + std::to_string(loss.code) + " (" + (name ? name : "unknown") + ")";
}

}  // namespace

Control::Control(int processes, int threads)
    : processes_(processes),
      threads_(threads),
      block_(round_up(sizeof(Head)) +
                 round_up(static_cast<std::size_t>(processes) * sizeof(ProcessRecord)) +
                 static_cast<std::size_t>(processes) * static_cast<std::size_t>(threads) *
                     sizeof(WorkerRecord),
             "shared memory of a team"),
      head_(new (block_.data()) Head) {
  const auto process_count = static_cast<std::size_t>(processes);
  const std::size_t worker_count = process_count * static_cast<std::size_t>(threads);
  std::byte* place = block_.data() + round_up(sizeof(Head));
  process_ = {reinterpret_cast<ProcessRecord*>(place), process_count};
  place += round_up(process_count * sizeof(ProcessRecord));
  workers_ = {reinterpret_cast<WorkerRecord*>(place), worker_count};
  for (ProcessRecord& record : process_) new (&record) ProcessRecord;
  for (WorkerRecord& record : workers_) new (&record) WorkerRecord;
}

template <class Fill>
void Control::record_failure(const Fill& fill) {
  int none = 0;
  if (!head_->failure_state.compare_exchange_strong(none, 1, std::memory_order_relaxed)) return;
  fill(head_->failure);
  head_->failure_state.store(2, std::memory_order_release);
  head_->stop.store(true, std::memory_order_relaxed);
}

void Control::fail_task(const Worker& worker, std::string_view message) {
  record_failure([&](Failure& failure) {
    failure.kind = FailureKind::task;
    failure.loss.process = worker.process;
    failure.thread = worker.thread;
    failure.task = this->worker(worker.index).task.load(std::memory_order_relaxed);
    copy_text(failure.text, message);
  });
}

void Control::fail_system(int process, std::string_view call, std::string_view operand, int code) {
  record_failure([&](Failure& failure) {
    failure.kind = FailureKind::system;
    failure.loss.process = process;
    failure.error = code;
    copy_text(failure.text, call);
    copy_text(failure.operand, operand);
  });
}

void Control::lose(const Loss& loss, int thread) {
  record_failure([&](Failure& failure) {
    failure.kind = FailureKind::lost;
    failure.loss = loss;
    failure.thread = thread;
  });
}

// Of the process's workers that were in a task: "task 17", "task 17 or 23".
std::string Control::phase_of(const Failure& failure) {
  constexpr int kMostNamed = 8;
  std::string phase;
  int named = 0;
  for (int thread = 0; thread < threads_ && named < kMostNamed; ++thread) {
    if (failure.thread >= 0 && thread != failure.thread) continue;
    const std::size_t task =
        worker(failure.loss.process * threads_ + thread).task.load(std::memory_order_relaxed);
    if (task == kNoTask) continue;
    phase += (named++ == 0 ? "task " : " or ") + std::to_string(task);
  }
  if (named > 0) return phase;
  const bool began = process(failure.loss.process).begin_ns.load(std::memory_order_relaxed) != 0;
  return began ? "no task" : "its start";
}

void Control::throw_failure() {
  const int state = head_->failure_state.load(std::memory_order_acquire);
  const Failure& failure = head_->failure;
  // Who claimed the slot was killed before it was filled.
  if (state == 1) throw core::Error("a process of the team was killed while it reported a failure");
  switch (failure.kind) {
    case FailureKind::none:
      return;
    case FailureKind::task:
      throw TaskError(failure.task, failure.text);
    case FailureKind::system:
      if (failure.text == kFork) throw ForkRefused(failure.operand, failure.error);
      throw core::SystemError(failure.text, failure.operand, failure.error);
    case FailureKind::lost:
      throw core::LostError(failure.loss.process, failure.loss.pid, phase_of(failure),
                            how_it_ended(failure.loss));
  }
}

void Control::meet_workers() {
  const auto all = static_cast<std::uint32_t>(workers());
  head_->workers_there.fetch_add(1, std::memory_order_release);
  while (head_->workers_there.load(std::memory_order_acquire) < all && !stops()) sched_yield();
}

void Control::arrive() {
  head_->arrived.fetch_add(1, std::memory_order_release);
  wake(head_->arrived);
  while (head_->released.load(std::memory_order_acquire) == 0 && !stops()) {
    sleep_while(head_->released, 0, kLookAgainSeconds);
  }
}

bool Control::wait_for_arrivals(double seconds) {
  const auto all = static_cast<std::uint32_t>(processes_);
  const std::uint32_t seen = head_->arrived.load(std::memory_order_relaxed);
  if (seen < all) sleep_while(head_->arrived, seen, seconds);
  return head_->arrived.load(std::memory_order_acquire) >= all;
}

void Control::release() {
  head_->released.store(1, std::memory_order_release);
  wake(head_->released);
}

}  // namespace tabane::team
