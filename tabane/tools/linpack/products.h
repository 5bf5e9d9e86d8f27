// The product of matrices, of which the elimination mostly consists.
#pragma once

#include <cstddef>

#include "tabane/solver/blas.h"

namespace tabane::linpack {

// C := C - A B. C is m x n, the inner dimension is k.
inline void subtract_product(int m, int n, int k, const double* a, std::ptrdiff_t lda,
                             const double* b, std::ptrdiff_t ldb, double* c, std::ptrdiff_t ldc) {
  if (m <= 0 || n <= 0 || k <= 0) return;
  solver::add_product(CblasNoTrans, CblasNoTrans, m, n, k, -1, a, static_cast<int>(lda), b,
                      static_cast<int>(ldb), c, static_cast<int>(ldc));
}

}  // namespace tabane::linpack
