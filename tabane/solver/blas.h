// The BLAS and LAPACK routines that solvers call: OpenBLAS, with one thread in each rank, since
// the ranks share the PUs among themselves. All matrices are stored column by column.
#pragma once

#include <cblas.h>

#include <mutex>

namespace tabane::solver {

// C := C + alpha op(A) op(B). C is m x n, the inner dimension is k.
inline void add_product(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                        double alpha, const double* a, int lda, const double* b, int ldb, double* c,
                        int ldc) {
  cblas_dgemm(CblasColMajor, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, 1.0, c, ldc);
}

// Returns a lock to hold while OpenBLAS works. Its variant without threads hands out working memory
// without locks, so that two calls at once could get the same. Where the linker puts this program's
// functions before OpenBLAS's own, they lock that memory, and the lock returned is empty. Elsewhere
// one call waits for the other.
[[nodiscard]] std::unique_lock<std::mutex> alone_in_blas();

// Whether calls need not wait for each other.
bool blas_memory_is_locked();

}  // namespace tabane::solver
