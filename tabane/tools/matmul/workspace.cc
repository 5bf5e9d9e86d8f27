#include "tabane/tools/matmul/workspace.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tabane/tools/matmul/operands.h"

namespace tabane::matmul {

core::Region Workspace::take(std::size_t bytes) {
  const auto smaller = [](const core::Region& a, const core::Region& b) {
    return a.size() < b.size();
  };
  std::sort(kept_.begin(), kept_.end(), smaller);
  const auto fits = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const core::Region& each) { return each.size() >= bytes; });
  core::Region region;
  if (fits != kept_.end()) {
    region = std::move(*fits);
    kept_.erase(fits);
    return region;
  }
  if (!kept_.empty()) kept_.pop_back();  // too small: a larger one takes its place
  return core::Region(bytes, {.pages = core::PageSize::huge});
}

void Workspace::give(core::Region region) { kept_.push_back(std::move(region)); }

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
