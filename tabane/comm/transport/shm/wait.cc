#include "tabane/comm/transport/shm/wait.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace tabane::comm::shm {
namespace {

// Not FUTEX_PRIVATE_FLAG: the word lies in memory that several processes share.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* time_out = nullptr) {
  return syscall(SYS_futex, &word, operation, value, time_out, nullptr, 0);
}

// After this, every store that another rank made before it looked at our doorbell is visible.
void fence_all_ranks() {
#if !defined(__SANITIZE_THREAD__)
  if (fence_before_look) std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  if (!fence_before_look) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace

bool fence_before_look = false;

void prepare_waiting() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0) {
    fence_before_look = true;
  }
}

void ring(Doorbell& doorbell) {
  const int code = errno;  // of whom a signal handler interrupted
  doorbell.rung.fetch_add(1);
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

void Waiter::wait_slowly(const std::function<bool()>& ready, const std::function<void()>& check) {
  for (;;) {
    for (int i = 0; i < patience_.yields; ++i) {
      if (ready()) return;
      check();  // among ranks that compute, a yield may take as long as a sleep
      sched_yield();
    }
    if (ready()) return;
    sleep_unless(ready, check);
  }
}

// If ready or check throws, `sleeping` stays set: that costs the next writer a system call.
void Waiter::sleep_unless(const std::function<bool()>& ready, const std::function<void()>& check) {
  // Before the doorbell says that this rank sleeps: who wakes it from then on changes it.
  const std::uint32_t rung = own_->rung.load();
  own_->sleeping.store(1);
  fence_all_ranks();
  if (!ready()) {
    check();
    const timespec most{patience_.sleep_ms / 1000, patience_.sleep_ms % 1000 * 1'000'000L};
    if (futex(own_->rung, FUTEX_WAIT, rung, &most) != 0 && errno == ETIMEDOUT) ++time_outs_;
  }
  own_->sleeping.store(0);
}

}  // namespace tabane::comm::shm
