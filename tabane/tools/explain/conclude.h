// What holds a command back, concluded from runs with something taken away or given.
//
// With u times the time for each use of a resource, a command takes T(u), the longest path through
// its work: a maximum of sums that are linear in u, so T is convex. Its slope at u = 1 is the share
// of the time that depends on the resource, and what giving more of it can bring is at most what
// the straight line with that slope says: with half the time for each use, 1 - slope / 2.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/fit.h"
#include "tabane/core/statistics.h"
#include "tabane/tools/explain/evidence.h"

namespace tabane::lab::explain {

enum class Kind {
  // Of the machine.
  bandwidth,
  latency,  // loads that wait for memory one after the other
  cache,    // the shared one
  computing,
  // Of the program and what it works with.
  locks,
  imbalance,  // threads with more work than others
  serial,     // one thread works while others could
  faults,
  disk,
  pipe,
  network,
  sleep,
  others,  // other programs, or more threads than PUs
};
inline constexpr std::size_t kKinds = 13;

const char* name_of(Kind kind);          // "memory bandwidth"
const char* name_of(Resource resource);  // what was tried: "shared cache"

struct Cause {
  Kind kind = Kind::computing;
  // Share of the wall time that goes away if this costs nothing.
  double share = 0;
  std::optional<core::Interval> interval = {};  // 95 %, 0 … 1; null: not known
  double most() const { return interval ? interval->high : share; }
  // The share that can be won: all of a wait, half of what a machine twice as fast does as well.
  double won() const { return won_of(share); }
  double won_of(double all) const { return kind <= Kind::computing ? all / 2 : all; }
  // How many times as fast it is without what can be won of a share: its own, or most().
  double gain_of(double all) const { return 1 / (1 - std::min(won_of(all), 0.99)); }
};

inline constexpr double kWorthAWord = 0.1;  // a share from which on it is a cause

// ---- laws of the memory (laws.cc) ----

// Of one slow-down.
struct Noise {
  double deviation = 0;  // standard, relative
  double freedom = 2;    // degrees, as of a guess
  bool measured = true;  // false: nothing was run twice, so it is a guess

  // Half of a 95 % interval in deviations (Student's t), or of so many that are all right then.
  double half(double intervals = 1) const;
};

struct Estimate {
  double value = 0;
  core::Interval interval = {};  // 95 %
};

// T = 1 + bandwidth (u / knee - 1) + latency (l - 1) + faults (f - 1) + what is lost without the
// cache, with u = 1 / share left, the latency l of our own chase, and f times as long for a page
// fault of our own: the system fills pages in memory. Below the knee bandwidth costs nothing, and
// its share is 0.
struct BandwidthLaw {
  Estimate bandwidth, latency, both, knee = {.value = 1};
  bool tells_latency = false;  // l was measured
};
struct WorkingSet {
  Estimate bytes, slowdown;  // without the whole of it
};

// A load from memory over one from the shared cache.
double memory_over_cache(const MachineLimits& machine);
// A slow-down of 1 where no effect was seen. Null where the size of the cache is not known.
std::optional<WorkingSet> working_set(const Trial& cache, const MachineLimits& machine,
                                      const Noise& noise);
// whole: the share of its time in which it runs; faults: in page faults, which are no part of it.
// without_cache: slow-down - 1, which thieves of bandwidth may cause, too; null: not known.
BandwidthLaw bandwidth_law(const Trial& bandwidth, const MachineLimits& machine, const Noise& noise,
                           double whole, double faults, std::optional<double> without_cache);
// How much better unequal work explains times over numbers of threads than a part that one thread
// does, in squared standard errors. Unequal work makes all runs with several threads slower by the
// same factor.
double unevenness(const std::vector<core::TimePoint>& points, const Noise& noise);

// ---- what its threads wait for (waits.cc) ----

struct Waits {
  double width = 1;  // threads that can work at once
  double busy = 0;   // share of looks with work, or threads that wait for each other
  int looks = 0;
  // Parts of the wall time that go away if nobody waits for this.
  std::array<double, kKinds> shares = {};
  double operator()(Kind kind) const { return shares[static_cast<std::size_t>(kind)]; }
  double& operator()(Kind kind) { return shares[static_cast<std::size_t>(kind)]; }
};
// pus: that the command may use. Null for fewer than 10 looks.
std::optional<Waits> waits_of(const Observed& observed, int pus);

// ---- all together ----

// What a level did: the median of its samples, and half the width of a 95 % interval.
struct Effect {
  double slowdown = 1, half = 0;
  bool slower() const { return slowdown - half > 1; }
  bool faster() const { return slowdown + half < 1; }
  core::Interval interval() const { return {slowdown - half, slowdown + half}; }
};

struct Explanation {
  std::vector<Cause> causes;    // those with a share that is worth a word, by what can be won
  std::vector<Cause> shares;    // all that were looked for: the causes, then the others
  bool one_or_unequal = false;  // whether the part of one thread may as well be unequal work
  Noise noise;
  double given = 0;  // levels of what is given, threads, too
  std::optional<BandwidthLaw> bandwidth;
  std::optional<WorkingSet> working_set;
  std::optional<core::ScalabilityFit> threads;  // null for fewer than three numbers of threads
  std::vector<std::string> full;                // the answer with all that there is to say
  std::vector<std::string> sentences;           // the same for a terminal, in about 12 lines

  const Cause* find(Kind kind) const;  // among the shares; null: not looked for
  double half_of_one() const { return noise.half() * noise.deviation; }  // of one sample
  Effect effect_of(const Level& level, double intervals = 1) const;
  // The best of what is given is taken: none of it may look faster by chance.
  Effect effect_of(const Level& level, Resource of) const {
    return effect_of(level, of < Resource::threads ? 1 : given);
  }
};

Explanation conclude(const Evidence& evidence);

// Fills full and sentences from the rest (sentences.cc).
void put_into_words(const Evidence& evidence, Explanation& explanation);

// Whether it was measured, and a thief of the cache kept its data.
bool tells(Resource resource, const Level& level);

const Trial* find_trial(const Evidence& evidence, Resource resource);  // tried; else null

}  // namespace tabane::lab::explain
