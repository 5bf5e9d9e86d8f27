// OpenBLAS without threads, called by several threads.
#pragma once

#include <mutex>

namespace tabane::solver {

// To be held while OpenBLAS works. Its variant without threads hands out working memory without
// locks, so that two calls at once could get the same. Here the handing out is locked instead, if
// the linker lets this program's function stand before OpenBLAS's own: then nothing is held. If
// not, one call waits for the other.
[[nodiscard]] std::unique_lock<std::mutex> alone_in_blas();

// Whether calls need not wait for each other.
bool blas_memory_is_locked();

}  // namespace tabane::solver
