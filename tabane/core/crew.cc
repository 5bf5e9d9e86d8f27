#include "tabane/core/crew.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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

}  // namespace tabane::core
