// Tasks shared among threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tabane::matmul {

// Calls task(thread, i) for all i below `tasks`, each on one of `threads` threads, of which the
// caller is thread 0. All have the widest range of exponents. throws: what a task threw first.
void run_tasks(int threads, std::size_t tasks,
               const std::function<void(std::size_t thread, std::size_t task)>& task);

}  // namespace tabane::matmul
