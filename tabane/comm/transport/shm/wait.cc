#include "tabane/comm/transport/shm/wait.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "tabane/team/job.h"

namespace tabane::comm::shm {
namespace {

// Not FUTEX_PRIVATE_FLAG: the word is in memory that several processes share.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* time_out = nullptr) {
  return syscall(SYS_futex, &word, operation, value, time_out, nullptr, 0);
}

// Between "I sleep" and the last look. Pairs with fence_before_look(): whose look at the doorbell
// came first has its store seen by what follows here. No test can see atomic_thread_fence missing
// or weaker: on x86 the exchange that says "I sleep" is a fence already. Elsewhere only its load
// may be ordered before the look.
void fence_before_sleep(const Doorbell& own) {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  if (!own.writers_fence) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace

bool prepare_waiting() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

// Pairs with the load in sleep_unless(), through the kernel, which compares the word. What has been
// stored before is seen by whoever sees the new number. No test can see rung.fetch_add,
// sleeping.exchange or rung.load weaker: they are the same instructions then, and the fences order
// what must be ordered.
void ring(Doorbell& doorbell) {
  const int code = errno;  // of the code that a signal handler interrupted
  doorbell.rung.fetch_add(1, std::memory_order_release);
  futex(doorbell.rung, FUTEX_WAKE, INT_MAX);
  errno = code;
}

void wake_slowly(Doorbell& doorbell) {
  // Of many writers one makes the system call.
  if (doorbell.sleeping.exchange(0) != 0) ring(doorbell);
}

Patience patience_for(int ranks, int pus) {
  // To wake a rank on another PU takes about 20 us, so 1000 pauses (20 to 40 us) are worth it. In
  // turns on one PU they are not: 200 of them made a barrier of 8 ranks on 2 PUs four times slower.
  return {.spins = ranks <= pus ? 1000 : 0, .yields = 200};
}

void YieldCosts::note_slow(std::uint64_t begin_ns, std::uint64_t end_ns) {
  constexpr std::uint64_t kMostOfTheTime = 16;
  std::uint64_t since = since_ns_.load(std::memory_order_relaxed);
  if (end_ns <= since) return;  // in a rest that another rank has begun
  int level = level_.load(std::memory_order_relaxed);
  std::uint64_t rest = 0;
  if (begin_ns >= since) {  // not the slice that another rank has noted
    const bool again = begin_ns - since < (end_ns - begin_ns) / kMostOfTheTime;
    level = again ? std::min(level + 1, kMostLevel) : level / 2;
    if (level >= kInARow) rest = kRestNs << (level - kInARow);
  }
  if (since_ns_.compare_exchange_strong(since, end_ns + rest, std::memory_order_relaxed)) {
    level_.store(level, std::memory_order_relaxed);
  }
}

bool Waiter::yield_pays() const { return costs_ == nullptr || costs_->pays(team::now_ns()); }

// Returns ready(). What has come during a slow yield may have come at its beginning.
bool Waiter::yield_until(const std::function<bool()>& ready) {
  const std::uint64_t begin = team::now_ns();
  sched_yield();
  const std::uint64_t end = team::now_ns();
  const bool is_ready = ready();
  if (is_ready && costs_ != nullptr) costs_->note(begin, end);
  return is_ready;
}

void Waiter::wait_slowly(const std::function<bool()>& ready, const std::function<void()>& check) {
  for (;;) {
    if (ready()) return;
    for (int i = 0; i < patience_.yields && yield_pays(); ++i) {
      check();  // among ranks that compute, a yield may take as long as a sleep
      if (yield_until(ready)) return;
    }
    sleep_unless(ready, check, patience_.sleep_ms);
  }
}

bool Waiter::give_way(const std::function<bool()>& ready) {
  if (yield_pays()) return yield_until(ready);
  const auto no_check = [] {};
  sleep_unless(ready, no_check, 1);
  return ready();
}

// If ready or check throws, `sleeping` stays set: that costs the next writer a system call.
void Waiter::sleep_unless(const std::function<bool()>& ready, const std::function<void()>& check,
                          int most_ms) {
  // Before the doorbell says that this rank sleeps: a rank that wakes it from then on changes it.
  const std::uint32_t rung = own_->rung.load(std::memory_order_acquire);
  // Within the ready() of another sleep, which continues after this one.
  const bool is_within = own_->sleeping.exchange(1) != 0;
  fence_before_sleep(*own_);
  if (!ready()) {
    check();
    const timespec most{most_ms / 1000, most_ms % 1000 * 1'000'000L};
    if (futex(own_->rung, FUTEX_WAIT, rung, &most) != 0 && errno == ETIMEDOUT) ++time_outs_;
  }
  // relaxed: a writer that sees it late makes a system call too many.
  if (!is_within) own_->sleeping.store(0, std::memory_order_relaxed);
}

}  // namespace tabane::comm::shm
