// Threads that work for their caller: a crew that shares out work, a pool bound to PUs that starts
// a piece of work together, and such work timed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace tabane::core {

// Calls work(0), work(1), … in `threads` threads, or, where the system gives fewer, in the first of
// these only: so work has to come from what all of them share, not by thread.
// Calls tick, which must not throw, from this thread at each period until all have returned.
// throws: std::system_error if the system starts no thread; the first exception of a thread, once
// all have ended: the others have to learn of it otherwise.
void run_crew(std::size_t threads, const std::function<void(std::size_t thread)>& work,
              std::chrono::milliseconds period, const std::function<void()>& tick);

// Threads bound one to a PU that start a piece of work together: for measuring several cores at
// once.
class PinnedPool {
 public:
  // Starts one thread for each os index and binds it. throws: core::SystemError if a PU refuses,
  // std::system_error if the system starts no more threads.
  explicit PinnedPool(std::span<const unsigned> pus);
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  std::size_t size() const { return threads_.size(); }

  // Calls work(i) on thread i for all i at once; returns when all are done. The start and the end
  // cost some ten microseconds: give every thread milliseconds of work. throws: the first exception
  // that a thread's work threw.
  void run(const std::function<void(std::size_t)>& work);

 private:
  void serve(std::size_t index, unsigned pu);
  void finish_one();
  void wait_for_all();

  std::vector<std::thread> threads_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // null: end
  std::atomic<unsigned> round_{0};
  std::atomic<unsigned> unfinished_{0};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

// One piece of work on several threads at once, timed by the threads themselves: waking them and
// joining them is not part of it, and threads that did not run are noticed.
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
// Contender::timed returns.
double signed_seconds(const TogetherTime& time);

}  // namespace tabane::core
