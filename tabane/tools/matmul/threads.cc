#include "tabane/tools/matmul/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tabane/tools/matmul/exponents.h"

namespace tabane::matmul {

void run_tasks(int threads, std::size_t tasks,
               const std::function<void(std::size_t, std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto serve = [&](std::size_t thread) {
    const WidestRange range;  // MPFR keeps one for each thread
    try {
      for (std::size_t i = next++; i < tasks; i = next++) task(thread, i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = tasks;
    }
  };
  std::vector<std::jthread> others;
  const std::size_t count = std::min(static_cast<std::size_t>(threads), tasks);
  for (std::size_t thread = 1; thread < count; ++thread) others.emplace_back(serve, thread);
  serve(0);
  others.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace tabane::matmul
