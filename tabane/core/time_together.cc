#include "tabane/core/time_together.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/running_share.h"

namespace tabane::core {
namespace {

// A line each, so that no thread slows another one down while both take the time.
struct alignas(128) OwnLine {
  ThreadTime time;
};

// Spins, so that all leave within a microsecond; gives the CPU away now and then, lest a thread
// that has not arrived waits for it.
void wait_for(const std::atomic<std::size_t>& arrived, std::size_t workers) {
  for (unsigned i = 1; arrived.load(std::memory_order_acquire) < workers; ++i)
    if (i % 4096 == 0) std::this_thread::yield();
}

}  // namespace

TogetherTime time_of(std::span<const ThreadTime> threads) {
  double first = std::numeric_limits<double>::infinity(), last_begin = -first, last = -first;
  TogetherTime time;
  for (const ThreadTime& thread : threads) {
    first = std::min(first, thread.begin);
    last_begin = std::max(last_begin, thread.begin);
    last = std::max(last, thread.end);
    time.running_share = std::min(time.running_share, thread.running_share);
  }
  time.seconds = last - first;
  if (time.seconds > 0)
    time.running_share = std::min(time.running_share, 1 - (last_begin - first) / time.seconds);
  return time;
}

TogetherTime time_together(PinnedPool& pool, std::span<const std::size_t> threads,
                           const std::function<void(std::size_t)>& work) {
  Clock& clock = tick_clock();
  std::vector<OwnLine> lines(threads.size());
  std::atomic<std::size_t> arrived{0};
  pool.run([&](std::size_t i) {
    const auto place = std::lower_bound(threads.begin(), threads.end(), i);
    if (place == threads.end() || *place != i) return;
    ThreadTime& mine = lines[static_cast<std::size_t>(place - threads.begin())].time;
    arrived.fetch_add(1, std::memory_order_acq_rel);
    wait_for(arrived, threads.size());
    const RunningShare running;
    mine.begin = clock.now();
    work(i);
    mine.end = clock.now();
    mine.running_share = running.share();
  });
  std::vector<ThreadTime> times;
  for (const OwnLine& line : lines) times.push_back(line.time);
  return time_of(times);
}

TogetherTime time_together(PinnedPool& pool, std::size_t workers,
                           const std::function<void(std::size_t)>& work) {
  std::vector<std::size_t> threads(workers);
  std::iota(threads.begin(), threads.end(), std::size_t{0});
  return time_together(pool, threads, work);
}

double signed_seconds(const TogetherTime& time) {
  return time.running_share >= kLeastRunningShare ? time.seconds : -time.seconds;
}

}  // namespace tabane::core
