// Threads that share out work among themselves, while the caller looks after them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

namespace tabane::core {

// Calls work(0), work(1), … in `threads` threads; where the system gives fewer, those do it all.
// Calls tick, which must not throw, from this thread at each period until all have returned.
// throws: std::system_error if the system starts no thread; the first exception of a thread, once
// all have ended: the others have to learn of it otherwise.
void run_crew(std::size_t threads, const std::function<void(std::size_t thread)>& work,
              std::chrono::milliseconds period, const std::function<void()>& tick);

}  // namespace tabane::core
