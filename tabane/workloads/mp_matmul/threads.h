// Tasks shared among threads.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace tabane::workloads::mp_matmul {

// Calls task(thread, i) for all i below `tasks`, each on one of `threads` threads, of which the
// caller is thread 0. All have the widest range of exponents. throws: what a task threw first.
void run_tasks(int threads, std::size_t tasks,
               const std::function<void(std::size_t thread, std::size_t task)>& task);

// To be held while OpenBLAS works. Its variant without threads hands out its working memory without
// locks, so that two calls at once would write into the same.
[[nodiscard]] std::unique_lock<std::mutex> alone_in_blas();

}  // namespace tabane::workloads::mp_matmul
