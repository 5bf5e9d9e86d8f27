// Timing short work honestly: iteration < epoch < run.
//
// One iteration is one call of the work. An epoch is a batch of iterations between two reads of the
// clock, long enough that the clock's step does not matter, and gives one sample. A run repeats
// epochs until the median is known well enough or the budget ends. Contenders share a run: in
// every round each gives one epoch, in an order drawn anew, so that a slow moment of the machine
// hits all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/statistics.h"

namespace tabane::core {

// Makes the compiler believe that value is used. Costs no instruction for values in registers.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// Makes the compiler forget what it knows of value.
template <class T>
inline void forget(T& value) {
#if defined(__clang__)
  asm volatile("" : "+r,m"(value) : : "memory");
#else
  asm volatile("" : "+m,r"(value) : : "memory");
#endif
}

// Contenders measured in turn: in every round each gives one sample, in an order drawn anew, so
// that a slow moment of the machine hits all of them. The one such loop; everything that is
// compared goes through it.

// How long.
struct Effort {
  int fewest = 1;                              // rounds, even when the budget is spent
  int most = std::numeric_limits<int>::max();  // >= fewest
  double budget_seconds = std::numeric_limits<double>::infinity();
  // After that no further round begins, not even one of the fewest.
  double most_seconds = std::numeric_limits<double>::infinity();
  int warmups = 0;  // rounds before, by the caller: they are not counted
  std::uint32_t seed = 1;

  // Returns the part of a pass, counted from 0: all passes together have the rounds and the budget.
  Effort part(int pass, int passes) const;
};

enum class RoundsEnd { enough, budget, most };

struct NeverEnough {
  bool operator()(int) const { return false; }
};

// take(i) measures contender i once and returns its sample; keep(samples) gets those of a whole
// round, by contender; enough(rounds) ends the run, asked after each round from the fewest on.
// Time is counted from `start` by `clock`. throws: as take(); the round begun is then not kept.
template <class Take, class Keep, class Enough = NeverEnough>
RoundsEnd in_rounds(std::size_t contenders, const Effort& effort, Clock& clock, double start,
                    Take take, Keep keep, Enough enough = {}) {
  std::vector<std::size_t> order(contenders);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(effort.seed);
  std::vector<decltype(take(std::size_t{0}))> samples(contenders);
  for (int round = 0; round < effort.most; ++round) {
    const double spent = clock.now() - start;
    if (spent > effort.most_seconds) return RoundsEnd::budget;
    if (round >= effort.fewest && spent >= effort.budget_seconds) return RoundsEnd::budget;
    if (round >= effort.fewest && enough(round)) return RoundsEnd::enough;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) samples[i] = take(i);
    keep(samples);
  }
  return RoundsEnd::most;
}

struct MeasureOptions {
  double confidence_target = 0.01;  // stop when half the median's 95 % interval is below this share
  double budget_seconds = 0.5;  // of a contender; the run stops when all budgets together are spent
  int min_epochs = 11;          // even when the budget is spent; >= 1
  int max_epochs = 2001;        // >= min_epochs
  int warmup_epochs = 2;        // run and not counted
  double min_epoch_steps = 1000;     // an epoch lasts at least this many clock steps …
  double min_epoch_seconds = 20e-6;  // … and at least this long
  bool single_iteration = false;     // an epoch is one iteration, for work that cannot be repeated
  // Epochs during which the thread did not run are taken again, up to so often; the last one counts
  // whatever it was.
  int most_tries = 1;
};

struct Series {
  std::string name;
  std::uint64_t iterations_per_epoch = 0;
  std::vector<double> samples;  // seconds per iteration, one an epoch, in the order measured
  RoundsEnd stopped = RoundsEnd::budget;
  std::size_t retaken = 0;    // epochs thrown away because the work did not run all the time
  std::size_t disturbed = 0;  // samples kept although it did not: every try was disturbed

  double median() const { return core::median(samples); }
  Interval interval() const { return median_interval(samples); }
};

// Work that runs itself `iterations` times; the loop is inside so that a call costs nothing per
// iteration.
using Work = std::function<void(std::uint64_t iterations)>;

// Makes Work of a callable that does one iteration and is inlined into the loop.
template <class F>
Work repeat(F f) {
  return [f = std::move(f)](std::uint64_t iterations) mutable {
    for (std::uint64_t i = 0; i < iterations; ++i) f();
  };
}

struct Contender {
  std::string name;
  Work work;
  // Called before each epoch, warm-up too, outside its time: clears away what the last one left.
  std::function<void()> before = {};
  // In place of `work`, for work that knows better than its caller when it ran: returns the seconds
  // of so many iterations, negative if something disturbed them.
  std::function<double(std::uint64_t iterations)> timed = {};
};

// Measures one piece of work.
Series measure(std::string name, Work work, const MeasureOptions& options = {},
               Clock& clock = tick_clock());

// Measures contenders in turn; all series have the same number of samples and sample i of each was
// taken in round i, as interleaved_ratio() wants them.
std::vector<Series> measure_interleaved(std::vector<Contender> contenders,
                                        const MeasureOptions& options = {},
                                        Clock& clock = tick_clock());

}  // namespace tabane::core
