// The system calls that a fresh process makes before and after its work, all made through one
// function: a process that was just forked takes a page fault for each 64 KiB of code that it
// touches first, and the C library's own functions for them are spread over half a megabyte.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace tabane::team {

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
