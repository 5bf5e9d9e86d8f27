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
struct alignas(128) Span {
  double begin = 0, end = 0, share = 1;
};

// Spins, so that all leave within a microsecond; gives the CPU away now and then, lest a thread
// that has not arrived waits for it.
void wait_for(const std::atomic<std::size_t>& arrived, std::size_t workers) {
  for (unsigned i = 1; arrived.load(std::memory_order_acquire) < workers; ++i)
    if (i % 4096 == 0) std::this_thread::yield();
}

}  // namespace

TogetherTime time_together(PinnedPool& pool, std::span<const std::size_t> threads,
                           const std::function<void(std::size_t)>& work) {
  Clock& clock = tick_clock();
  std::vector<Span> spans(threads.size());
  std::atomic<std::size_t> arrived{0};
  pool.run([&](std::size_t i) {
    const auto place = std::lower_bound(threads.begin(), threads.end(), i);
    if (place == threads.end() || *place != i) return;
    Span& span = spans[static_cast<std::size_t>(place - threads.begin())];
    arrived.fetch_add(1, std::memory_order_acq_rel);
    wait_for(arrived, threads.size());
    const RunningShare running;
    span.begin = clock.now();
    work(i);
    span.end = clock.now();
    span.share = running.share();
  });
  double first = std::numeric_limits<double>::infinity(), last = -first;
  TogetherTime time;
  for (const Span& span : spans) {
    first = std::min(first, span.begin);
    last = std::max(last, span.end);
    time.running_share = std::min(time.running_share, span.share);
  }
  time.seconds = last - first;
  return time;
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
