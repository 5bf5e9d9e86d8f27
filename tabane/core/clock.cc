#include "tabane/core/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "tabane/core/statistics.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tabane::core {
namespace {

constexpr int kSlices = 5;

thread_local std::uint64_t requests = 0;

// The same moment on both clocks: the system clock was read somewhere inside ticks ± half_width.
struct Moment {
  double ticks = 0;
  double half_width = 0;
  double seconds = 0;
};

double raw_seconds() { return clock_seconds(CLOCK_MONOTONIC_RAW); }

// The tightest bracket of several is the one that nothing interrupted.
Moment read_both(std::uint64_t origin, double start) {
  Moment best;
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t before = ticks_begin();
    const double seconds = raw_seconds();
    const std::uint64_t width = ticks_end() - before;
    if (width >= best_width) continue;
    best_width = width;
    best.half_width = 0.5 * static_cast<double>(width);
    best.ticks = static_cast<double>(before - origin) + best.half_width;
    best.seconds = seconds - start;
  }
  return best;
}

double rate_between(const Moment& a, const Moment& b) {
  return (b.ticks - a.ticks) / (b.seconds - a.seconds);
}

bool counter_is_invariant() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return true;  // the architecture's generic timer has one fixed frequency
#endif
}

class TickClock final : public Clock {
 public:
  TickClock()
      : origin_(ticks_begin()),
        seconds_per_tick_(1 / tick_rate().ticks_per_second),
        step_(tick_overhead().step_ticks * seconds_per_tick_) {}

  double now() override {
    // Counting from origin_ keeps the difference exact in a double.
    return static_cast<double>(ticks_end() - origin_) * seconds_per_tick_;
  }
  double step() const override { return step_; }

 private:
  std::uint64_t origin_;
  double seconds_per_tick_;
  double step_;
};

}  // namespace

TickRate calibrate_ticks(double seconds) {
  const double slice = std::max(seconds, 0.01) / kSlices;
  const std::uint64_t origin = ticks_begin();
  const double start = raw_seconds();
  std::array<Moment, kSlices + 1> moments;
  moments[0] = read_both(origin, start);
  for (std::size_t i = 1; i < moments.size(); ++i) {
    while (raw_seconds() - start < moments[i - 1].seconds + slice) {
    }
    moments[i] = read_both(origin, start);
  }

  std::array<double, kSlices> rates;
  for (std::size_t i = 0; i < rates.size(); ++i)
    rates[i] = rate_between(moments[i], moments[i + 1]);
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());

  TickRate rate;
  rate.ticks_per_second = rate_between(moments.front(), moments.back());
  rate.relative_uncertainty = 0.5 * (*high - *low) / rate.ticks_per_second;
  rate.invariant = counter_is_invariant();
#if defined(__x86_64__)
  rate.counter = "rdtsc";
#else
  rate.counter = "cntvct_el0";
#endif
  return rate;
}

double tick_rate_change(double seconds) {
  const std::uint64_t origin = ticks_begin();
  const double start = raw_seconds();
  const Moment idle = read_both(origin, start);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const Moment loaded = read_both(origin, start);
  while (raw_seconds() - start < loaded.seconds + seconds) {
  }
  const Moment end = read_both(origin, start);
  return rate_between(loaded, end) / rate_between(idle, loaded) - 1;
}

const TickRate& tick_rate() {
  ++requests;
  // For 10 ms only, because whoever starts a small job waits for it. The error is about 1 millionth
  // at most, as long as other programs leave this one its PU; after 50 ms it would be a fifth.
  static const TickRate rate = calibrate_ticks(0.01);
  return rate;
}

TickOverhead tick_overhead() {
  constexpr int kPairs = 1001;
  std::vector<double> pairs(kPairs);
  for (double& pair : pairs) {
    const std::uint64_t begin = ticks_begin();
    pair = static_cast<double>(ticks_end() - begin);
  }

  // A slow counter shows zero for a long time, so successive reads go on until it moves.
  std::uint64_t step = ~std::uint64_t{0};
  for (int i = 0; i < kPairs; ++i) {
    const std::uint64_t begin = ticks_begin();
    std::uint64_t difference = 0;
    while (difference == 0) difference = ticks_begin() - begin;
    step = std::min(step, difference);
  }
  return {.read_ticks = median(pairs), .step_ticks = static_cast<double>(step)};
}

Clock& tick_clock() {
  ++requests;
  static TickClock& clock = *new TickClock;
  return clock;
}

std::uint64_t clock_requests() { return requests; }

RunningShare::RunningShare()
    : wall_(clock_seconds(CLOCK_MONOTONIC)), cpu_(clock_seconds(CLOCK_THREAD_CPUTIME_ID)) {
  ++requests;
}

double RunningShare::share() const {
  const double cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_;
  const double wall = clock_seconds(CLOCK_MONOTONIC) - wall_;
  return wall > 0 ? cpu / wall : 1;
}

}  // namespace tabane::core
