#include "tabane/tools/encrypt/trace.h"

#include <ctime>
#include <utility>

namespace tabane::encrypt {

Trace::Trace() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const auto seconds = std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  add({.what = "start of the program", .begin = Clock::now() - seconds});
}

void Trace::add(Event event) {
  event.end = Clock::now();
  const std::lock_guard lock(mutex_);
  event.thread = threads_.try_emplace(std::this_thread::get_id(), threads_.size()).first->second;
  events_.push_back(std::move(event));
}

}  // namespace tabane::encrypt
