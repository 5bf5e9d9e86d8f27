// Waiting for memory that another process writes: spin, then yield, then sleep.
//
// A sleeper says that it sleeps and looks once more; a writer stores and then looks who sleeps. So
// that one of them sees the other, both need a fence between the two. Where each rank has a PU of
// its own, ranks seldom sleep, and a writer does not want to pay for a fence each time: the sleeper
// pays for both and makes the kernel put a fence into every running rank (membarrier). A writer
// whose look came before that fence has its store seen by the sleeper's; one that looks after it
// sees that the rank sleeps. Where ranks exceed PUs they sleep often, and each makes its own fence.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace tabane::comm::shm {

// One a rank, in shared memory. Written by its rank before and after sleep, and by ranks that wake
// it.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> sleeping{0};
  std::atomic<std::uint32_t> rung{0};  // futex
  bool writers_fence = false;          // does not change while ranks run
};

// Orders a store before the look at `doorbell` that follows it. Pairs with fence_before_sleep().
// No test can see atomic_signal_fence missing: GCC keeps atomic accesses in order, which C++ does
// not promise.
inline void fence_before_look([[maybe_unused]] const Doorbell& doorbell) {
#if !defined(__SANITIZE_THREAD__)  // it knows no fences
  if (doorbell.writers_fence) std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  std::atomic_signal_fence(std::memory_order_seq_cst);  // else membarrier does it; not the compiler
}

// Lets a sleeping rank look again; call it after the store that it waits for.
// cost: one load of a line that hardly ever changes where ranks have PUs of their own; a fence
// elsewhere; a system call if the rank sleeps.
void wake_slowly(Doorbell& doorbell);
// The same after fence_before_look() of it or another doorbell of the launch.
inline void wake_after_fence(Doorbell& doorbell) {
#if defined(__SANITIZE_THREAD__)
  if (doorbell.sleeping.fetch_add(0) != 0) wake_slowly(doorbell);
#else
  // relaxed: ordered by the fence.
  if (doorbell.sleeping.load(std::memory_order_relaxed) != 0) wake_slowly(doorbell);
#endif
}
inline void wake(Doorbell& doorbell) {
  fence_before_look(doorbell);
  wake_after_fence(doorbell);
}
// Wakes it whether it says that it sleeps or not. Async-signal-safe. cost: a system call.
void ring(Doorbell& doorbell);

// Registers this process for membarrier: before the ranks fork and again in each of them. Returns
// whether the kernel has it; where it does not, writers must fence.
bool prepare_waiting();

// How long to spin and how often to yield before sleeping.
struct Patience {
  int spins = 0;      // polls with a pause between
  int yields = 0;     // polls with sched_yield() between
  int sleep_ms = 50;  // at most, until the next look and check
};
// Of `ranks` ranks on `pus` usable PUs: where they exceed the PUs, spinning keeps others from
// running.
Patience patience_for(int ranks, int pus);

// Whether it pays to yield, by what all ranks of a launch have seen: one in shared memory. A yield
// that lets another waiting rank run takes some microseconds. One that lets a program run which
// computes takes a slice of the scheduler's, milliseconds; a rank that sleeps is put before such a
// program when it is woken. So where such yields take nearly all of the time, three in a row, all
// ranks sleep at once for a while, twice as long each time that it is the same afterwards.
// A hint: no data depend on it, so all of it is relaxed.
class YieldCosts {
 public:
  static constexpr std::uint64_t kSlowNs = 500'000;  // slices are 0.7 ms or more
  static constexpr std::uint64_t kRestNs = 30'000'000;
  static constexpr int kInARow = 3, kMostLevel = kInARow + 4;  // rests of 30 to 480 ms

  bool pays(std::uint64_t now_ns) const {
    return now_ns >= since_ns_.load(std::memory_order_relaxed);
  }
  // Of a yield during which what the rank waits for has come, in nanoseconds of a clock that is the
  // same for all ranks.
  void note(std::uint64_t begin_ns, std::uint64_t end_ns) {
    if (end_ns - begin_ns >= kSlowNs) note_slow(begin_ns, end_ns);
  }

 private:
  void note_slow(std::uint64_t begin_ns, std::uint64_t end_ns);

  alignas(64) std::atomic<std::uint64_t> since_ns_{0};  // end of the last slow yield, or rest
  std::atomic<int> level_{0};                           // how many were slow in a row
};

// Waits of one rank.
class Waiter {
 public:
  // costs: shared with the other ranks, or null: yields are taken to be quick.
  Waiter(Doorbell& own, Patience patience, YieldCosts* costs = nullptr)
      : own_(&own), patience_(patience), costs_(costs) {}

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
  // For polls that the caller repeats: yields once; where that does not pay, sleeps for a
  // millisecond at most. Returns ready(). throws: what that does.
  bool give_way(const std::function<bool()>& ready);

 private:
  void wait_slowly(const std::function<bool()>& ready, const std::function<void()>& check);
  void sleep_unless(const std::function<bool()>& ready, const std::function<void()>& check,
                    int most_ms);
  bool yield_pays() const;
  bool yield_until(const std::function<bool()>& ready);

  Doorbell* own_;
  Patience patience_;
  YieldCosts* costs_;
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
