// Waiting for memory that another process writes: spin, then yield, then sleep.
//
// Who writes does not want to pay for a fence only because somebody may be asleep. So the sleeper
// pays: it says that it sleeps, makes the kernel put a fence into every running rank (membarrier),
// and looks once more. A writer whose look came before that fence has its store seen by the
// sleeper's; one that looks after it sees that the rank sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace tabane::comm::shm {

// One a rank, in shared memory. Written by its rank before and after sleep, and by who wakes it.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> sleeping{0};
  std::atomic<std::uint32_t> rung{0};  // futex
};

// Lets a sleeping rank look again; call it after the store that it waits for.
// cost: one load of a line that hardly ever changes, unless the rank sleeps. No fence: who goes to
// sleep makes all others' stores visible (membarrier); where the kernel cannot, a fence is made.
void wake_slowly(Doorbell& doorbell);
extern bool fence_before_look;  // set by prepare_waiting()
inline void wake(Doorbell& doorbell) {
#if defined(__SANITIZE_THREAD__)  // it knows no fences
  if (doorbell.sleeping.fetch_add(0) != 0) wake_slowly(doorbell);
#else
  if (fence_before_look) std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (doorbell.sleeping.load(std::memory_order_relaxed) != 0) wake_slowly(doorbell);
#endif
}
// Wakes it whether it says that it sleeps or not. Async-signal-safe. cost: a system call.
void ring(Doorbell& doorbell);

// Registers this process for membarrier. Before the ranks fork (sets fence_before_look for all) and
// again in each of them.
void prepare_waiting();

// How long to spin and how often to yield before sleeping.
struct Patience {
  int spins = 0;      // polls with a pause between
  int yields = 0;     // polls with sched_yield() between
  int sleep_ms = 50;  // at most, until the next look and check
};
// Of `ranks` ranks on `pus` usable PUs: where they exceed the PUs, spinning keeps others from
// running.
Patience patience_for(int ranks, int pus);

// Waits of one rank.
class Waiter {
 public:
  Waiter(Doorbell& own, Patience patience) : own_(&own), patience_(patience) {}

  // Returns once ready() is true. ready may make progress, so it is called again and again. check:
  // called from time to time, at least each 50 ms; may throw, and so may ready. After a store to
  // what either looks at, the rank that stored wakes this one's doorbell.
  template <class Ready, class Check>
  void wait(Ready&& ready, Check&& check) {
    for (int i = 0; i < patience_.spins; ++i) {
      if (ready()) return;
      pause();
    }
    wait_slowly(std::ref(ready), std::ref(check));
  }

  // Sleeps that nobody ended, so far. Many are normal for a rank that waits long.
  std::uint64_t time_outs() const { return time_outs_; }

  static void pause();

 private:
  void wait_slowly(const std::function<bool()>& ready, const std::function<void()>& check);
  void sleep_unless(const std::function<bool()>& ready, const std::function<void()>& check);

  Doorbell* own_;
  Patience patience_;
  std::uint64_t time_outs_ = 0;
};

inline void Waiter::pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // yield is a no-op on most cores
#endif
}

}  // namespace tabane::comm::shm
