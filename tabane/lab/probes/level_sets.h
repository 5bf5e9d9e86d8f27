// Working sets that stay from pass to pass, on one core and on all.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tabane/core/pinned_pool.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/kernels.h"
#include "tabane/lab/probes/plan.h"

namespace tabane::lab {

inline constexpr const char* kStartedTogether =
    "threads start once all have arrived and time themselves; the time is from the first start to "
    "the last end";

// The set of the calling thread, which must be bound to the home PU. Sets in caches are made anew
// in every pass, as where their pages lie in memory decides how well they fit; large ones stay.
WorkingSet& core_set(ProbeContext& context, const MemoryLevel& level);

// The fastest roofs of a mix at a level on the calling thread, the best first; searched once a
// survey.
const std::vector<Loop>& core_roofs(ProbeContext& context, const MemoryLevel& level,
                                    WorkingSet& set, Mix mix);

// A thread with a working set on one PU of each core. The threads live as long as this; large sets
// stay for the next passes, those in caches are made anew. Each thread touches its own set first,
// so that it lies on the thread's node.
class MachineSets {
 public:
  // throws: NotHere if a PU cannot be bound.
  MachineSets(ProbeContext& context, const MemoryLevel& level);

  std::size_t size() const { return sets_.size(); }
  WorkingSet& operator[](std::size_t thread) { return *sets_[thread]; }
  WorkingSet& front() { return *sets_.front(); }
  // The loop on the first `workers` threads, each on its own set, as a competitor that times
  // itself.
  core::Competitor start(const Loop& loop, std::size_t workers);
  core::PinnedPool& pool() { return *pool_; }
  // Halves of the sets for the same threads; used in turn with the whole ones.
  MachineSets halves();
  // work() on one thread.
  void on_thread(std::size_t thread, const std::function<void()>& work);

 private:
  MachineSets() = default;

  std::shared_ptr<core::PinnedPool> pool_;
  std::vector<std::shared_ptr<WorkingSet>> sets_;
};

// The fastest roof of a mix on all threads, searched once a survey.
Loop best_on_machine(ProbeContext& context, const MemoryLevel& level, MachineSets& sets, Mix mix);

// The detail of results from memory that tells how much faster the best copy is on half of the
// data: [value, low, high]. Clearly above 1, the data are partly in a cache that the system does
// not state.
inline constexpr const char* kGainOfHalf = "gain_of_half_the_data";

// walk(half): B/s of going through the data, or half of them, once they have been gone through
// alone. Takes both in turn a few times.
core::Ratio gain_of_half(const std::function<double(bool half)>& walk);

// Those of a core and of all cores; measured once a survey.
Json gain_of_half(ProbeContext& context, const MemoryLevel& level, WorkingSet& set);
Json gain_of_half(ProbeContext& context, const MemoryLevel& level, MachineSets& sets);

// Whether other programs had the CPUs too often for the samples to say anything.
bool disturbed(const core::Series& series);

// Gives the result the samples, unless the threads often did not run while they were taken: then it
// stays without a value and gets the reason. Returns whether it has a value.
bool refuse_disturbed(Result& result, const core::Series& series, std::vector<double> samples);

}  // namespace tabane::lab
