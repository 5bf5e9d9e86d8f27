// One piece of work on several threads at once, timed by the threads themselves: waking them and
// joining them is not part of it, and threads that did not run are noticed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "tabane/core/pinned_pool.h"

namespace tabane::core {

struct TogetherTime {
  double seconds = 0;        // from the first start to the last end
  double running_share = 1;  // of the thread that got least of its CPU in that time
};

// What one thread did: seconds of one clock, and its CPU time over wall time in between.
struct ThreadTime {
  double begin = 0, end = 0, running_share = 1;
};

// threads: not empty. A thread that began late did not have its CPU before.
TogetherTime time_of(std::span<const ThreadTime> threads);

// Calls work(i) on these threads of the pool, once all of them have arrived; the others sleep on.
// threads: ascending. cost: waking the pool, some ten microseconds, outside the time. throws: the
// first exception that a thread's work threw.
TogetherTime time_together(PinnedPool& pool, std::span<const std::size_t> threads,
                           const std::function<void(std::size_t)>& work);
// The same on the first `workers` threads.
TogetherTime time_together(PinnedPool& pool, std::size_t workers,
                           const std::function<void(std::size_t)>& work);

// The seconds, negative if a thread had less than kLeastRunningShare of its CPU: what
// Competitor::timed returns.
double signed_seconds(const TogetherTime& time);

}  // namespace tabane::core
