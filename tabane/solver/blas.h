// The BLAS and LAPACK routines that solvers call: OpenBLAS, with one thread in each rank, since
// the ranks share the PUs among themselves. All matrices are stored column by column.
#pragma once

#include <cblas.h>

#include "tabane/comm/comm.h"

namespace tabane::solver {

// C := C + alpha op(A) op(B). C is m x n, the inner dimension is k.
inline void add_product(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k,
                        double alpha, const double* a, int lda, const double* b, int ldb, double* c,
                        int ldc) {
  cblas_dgemm(CblasColMajor, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, 1.0, c, ldc);
}

// Returns the rate of matrix products of all ranks together, in operations per second: the best of
// `rounds` products of n x n matrices that all begin at the same time, on each rank for itself.
// All ranks call it; the result is the same on all. cost: rounds 2 n^3 operations and 3 n^2 numbers
// on each rank.
double measure_product_rate(comm::Comm& comm, int n = 768, int rounds = 8);

}  // namespace tabane::solver
