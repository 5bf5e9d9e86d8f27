#include "tabane/core/core_rate.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <string>
#include <thread>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/threads.h"

namespace tabane::core {
namespace {

constexpr std::uint64_t kBlock = 64;
constexpr std::uint64_t kSliceAdds = std::uint64_t{1} << 17;  // tens of microseconds

// Register with register: some cores do additions of small constants while renaming, in no time.
inline void add_block(std::uint64_t& sum, std::uint64_t addend) {
#if defined(__x86_64__)
  asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(addend) : "cc");
#else
  asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(addend));
#endif
}

constexpr int kNoMore = std::numeric_limits<int>::max();

// One question and its answer; the two directions are on lines of their own.
struct Exchange {
  alignas(128) std::atomic<int> asked{0};
  alignas(128) std::atomic<int> answered{0};
  std::uint64_t stamp = 0;  // counter of b, valid once answered
};

// Spins until the counter has come so far, and returns it; gives the PU away now and then, lest a
// busy machine stall it.
int wait_for_round(const std::atomic<int>& counter, int round) {
  for (unsigned i = 1;; ++i) {
    const int now = counter.load(std::memory_order_acquire);
    if (now >= round) return now;
    if (i % 4096 == 0) std::this_thread::yield();
  }
}

void answer_questions(Exchange& exchange) {
  for (int round = 1; wait_for_round(exchange.asked, round) != kNoMore; ++round) {
    exchange.stamp = ticks_end();
    // Both stores are with the load in wait_for_round().
    exchange.answered.store(round, std::memory_order_release);
  }
}

TickSkew ask_questions(Exchange& exchange, int rounds) {
  constexpr double kMostSeconds = 2;  // for PUs that are busy with other work
  const auto limit = static_cast<std::uint64_t>(kMostSeconds * tick_rate().ticks_per_second);
  const double step = tick_overhead().step_ticks;
  const std::uint64_t start = ticks_begin();
  std::uint64_t fastest = ~std::uint64_t{0};
  TickSkew skew;
  for (int round = 1; round <= std::max(rounds, 1); ++round) {
    const std::uint64_t sent = ticks_end();
    exchange.asked.store(round, std::memory_order_release);
    wait_for_round(exchange.answered, round);
    const std::uint64_t received = ticks_end();
    if (received - sent < fastest) {
      fastest = received - sent;
      skew = skew_of(sent, exchange.stamp, received, step);
    }
    if (received - start > limit) break;
  }
  exchange.asked = kNoMore;
  return skew;
}

}  // namespace

TickSkew skew_of(std::uint64_t sent, std::uint64_t stamp, std::uint64_t received,
                 double step_ticks) {
  // The answer was stamped at some moment of the round trip; its middle errs least.
  const double half = 0.5 * static_cast<double>(received - sent);
  return {.offset_ticks = static_cast<double>(static_cast<std::int64_t>(stamp - sent)) - half,
          .bound_ticks = half + step_ticks};
}

std::uint64_t run_add_chain(std::uint64_t adds) {
  std::uint64_t sum = 0;
  const std::uint64_t begin = ticks_begin();
  for (std::uint64_t blocks = (adds + kBlock - 1) / kBlock; blocks > 0; --blocks)
    add_block(sum, blocks);
  return ticks_end() - begin;
}

double measure_core_rate(double seconds) {
  const double ticks_per_second = tick_rate().ticks_per_second;
  const auto budget = static_cast<std::uint64_t>(std::max(seconds, 0.0) * ticks_per_second);
  const std::uint64_t begin = ticks_begin();
  std::uint64_t fastest = run_add_chain(kSliceAdds);
  do {
    fastest = std::min(fastest, run_add_chain(kSliceAdds));
  } while (ticks_begin() - begin < budget);
  return static_cast<double>(kSliceAdds) * ticks_per_second / static_cast<double>(fastest);
}

TickSkew measure_tick_skew(unsigned a, unsigned b, int rounds) {
  if (a == b)
    throw SystemError("comparing tick counters", "PU " + std::to_string(a) + " with itself",
                      EINVAL);
  tick_rate();  // not calibrated while the other waits
  const unsigned pus[] = {a, b};
  PinnedPool pool(pus);
  Exchange exchange;
  TickSkew skew;
  pool.run([&](std::size_t thread) {
    if (thread == 0) {
      skew = ask_questions(exchange, rounds);
    } else {
      answer_questions(exchange);
    }
  });
  return skew;
}

}  // namespace tabane::core
