// Threads bound one to a PU that start a piece of work together: for measuring several cores at
// once.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace tabane::core {

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

}  // namespace tabane::core
