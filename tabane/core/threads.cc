#include "tabane/core/threads.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/clock.h"

namespace tabane::core {

void run_crew(std::size_t threads, const std::function<void(std::size_t thread)>& work,
              std::chrono::milliseconds period, const std::function<void()>& tick) {
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t working = threads;
  std::exception_ptr problem;
  std::vector<std::jthread> crew;
  const auto work_as = [&](std::size_t thread) {
    std::exception_ptr mine;
    try {
      work(thread);
    } catch (...) {
      mine = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    if (mine && !problem) problem = mine;
    --working;
    ended.notify_one();
  };
  try {
    while (crew.size() < threads) crew.emplace_back(work_as, crew.size());
  } catch (const std::system_error&) {
    if (crew.empty()) throw;
    const std::lock_guard lock(mutex);
    working -= threads - crew.size();
  }
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, period, [&] { return working == 0; })) {
    lock.unlock();
    tick();
    lock.lock();
  }
  lock.unlock();
  crew.clear();
  if (problem) std::rethrow_exception(problem);
}

PinnedPool::PinnedPool(std::span<const unsigned> pus) {
  unfinished_ = static_cast<unsigned>(pus.size());
  try {
    for (std::size_t i = 0; i < pus.size(); ++i)
      threads_.emplace_back([this, i, pu = pus[i]] { serve(i, pu); });
    wait_for_all();  // until every thread is bound
  } catch (...) {
    run({});
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

PinnedPool::~PinnedPool() {
  work_ = nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void PinnedPool::run(const std::function<void(std::size_t)>& work) {
  unfinished_ = static_cast<unsigned>(threads_.size());
  work_ = work ? &work : nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  if (work) wait_for_all();
}

void PinnedPool::wait_for_all() {
  for (unsigned left = unfinished_.load(); left != 0; left = unfinished_.load())
    unfinished_.wait(left);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void PinnedPool::finish_one() {
  if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_all();
}

void PinnedPool::serve(std::size_t index, unsigned pu) {
  const auto guarded = [this](const auto& step) {
    try {
      step();
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
  };
  guarded([&] { bind_this_thread(std::span(&pu, 1)); });
  unsigned seen = 0;
  finish_one();
  for (;;) {
    round_.wait(seen);
    seen = round_.load();
    if (work_ == nullptr) return;
    guarded([&] { (*work_)(index); });
    finish_one();
  }
}

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
    const auto place = std::ranges::lower_bound(threads, i);
    if (place == threads.end() || *place != i) return;
    ThreadTime& mine = lines[static_cast<std::size_t>(place - threads.begin())].time;
    arrived.fetch_add(1, std::memory_order_release);  // with the load in wait_for()
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
