// The processor's tick counter: one register read, far cheaper than a system clock.
//
// A tick is not a core cycle. On current processors the counter runs at a constant rate whatever
// the core does (invariant); the core's own rate is measured by core_rate.h with a dependent chain.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>

namespace tabane::core {

// Reads the counter before the timed work: nothing timed starts before the read is done.
inline std::uint64_t ticks_begin() {
#if defined(__x86_64__)
  // lfence waits for all earlier instructions and holds back the later ones.
  __builtin_ia32_lfence();
  const std::uint64_t t = __builtin_ia32_rdtsc();
  __builtin_ia32_lfence();
  return t;
#elif defined(__aarch64__)
  std::uint64_t t;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(t) : : "memory");
  return t;
#else
#error "tabane reads the tick counter of x86-64 and aarch64"
#endif
}

// Reads the counter after the timed work: all of it is done before the read.
inline std::uint64_t ticks_end() {
  // The same fences: rdtscp would wait by itself, but some virtual processors hide it.
  return ticks_begin();
}

// What a clock of the system shows, in nanoseconds: CLOCK_MONOTONIC, which all processes share, the
// CPU time of CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID, or a clock that
// clock_getcpuclockid() names. 0 if there is no such clock. cost: a few tens of nanoseconds, CPU
// times a system call.
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}
inline double clock_seconds(clockid_t clock) { return 1e-9 * static_cast<double>(clock_ns(clock)); }

struct TickRate {
  double ticks_per_second = 0;
  double relative_uncertainty = 0;  // half the spread of repeated calibrations over the rate
  // Announced as constant whatever the core's frequency (CPUID 80000007h EDX[8]). Some virtual
  // machines hide it: tick_rate_change() and the kernel's choice of clock say more.
  bool invariant = false;
  std::string counter;  // "rdtsc" or "cntvct_el0"
};

// Calibrates the counter against CLOCK_MONOTONIC_RAW over `seconds` of wall time (at least 10 ms).
TickRate calibrate_ticks(double seconds = 0.05);

// The rate of a calibration made once per process, at the first call.
const TickRate& tick_rate();

// What the counter's rate becomes under load, over its rate while this thread sleeps, minus 1:
// about 0 if it is constant, above if it follows the core's frequency. Says nothing where the
// system clock is made from the counter itself. cost: twice `seconds`.
double tick_rate_change(double seconds = 0.02);

// Smallest difference of an empty begin/end pair, and the smallest non-zero step of the counter:
// ticks.
struct TickOverhead {
  double read_ticks = 0;  // median of empty pairs
  double step_ticks = 0;  // > 0
};
TickOverhead tick_overhead();

// What the measurement engine needs of a clock; tests give it a manual one and never sleep.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now() = 0;         // seconds since some fixed moment
  virtual double step() const = 0;  // seconds; smallest difference it can show, > 0
};

// The tick counter as a Clock. Lives as long as the process.
Clock& tick_clock();

// How often the calling thread has asked for tick_clock(), tick_rate() or a RunningShare. So a
// simulation learns that its program reads a real clock.
std::uint64_t clock_requests();

// A sample during which a thread had less of its CPU than this says more about other programs than
// about the work.
inline constexpr double kLeastRunningShare = 0.9;

// Whether the calling thread really ran: its CPU time over the time on the wall.
class RunningShare {
 public:
  RunningShare();
  // CPU time of the calling thread since construction over wall time since then: 1 unless it
  // waited, or another program, or on some systems another virtual machine, had the CPU. Must be
  // called by the thread that constructed it. cost: a microsecond or less.
  double share() const;

 private:
  double wall_, cpu_;  // seconds at construction
};

}  // namespace tabane::core
