// OpenBLAS without threads, called by several threads.
#pragma once

#include <mutex>

namespace tabane::solver {

// Returns a lock to hold while OpenBLAS works. Its variant without threads hands out working memory
// without locks, so that two calls at once could get the same. Where the linker puts this program's
// functions before OpenBLAS's own, they lock that memory, and the lock returned is empty. Elsewhere
// one call waits for the other.
[[nodiscard]] std::unique_lock<std::mutex> alone_in_blas();

// Whether calls need not wait for each other.
bool blas_memory_is_locked();

}  // namespace tabane::solver
