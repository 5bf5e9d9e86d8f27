// The two operations on blocks that the elimination consists of.
#pragma once

#include <cstddef>

#include "tabane/workloads/blas.h"

namespace tabane::workloads::linpack {

// C := C - A B. C is m x n, the inner dimension is k.
inline void subtract_product(int m, int n, int k, const double* a, std::ptrdiff_t lda,
                             const double* b, std::ptrdiff_t ldb, double* c, std::ptrdiff_t ldc) {
  if (m <= 0 || n <= 0 || k <= 0) return;
  add_product(CblasNoTrans, CblasNoTrans, m, n, k, -1, a, static_cast<int>(lda), b,
              static_cast<int>(ldb), c, static_cast<int>(ldc));
}

// B := L^-1 B, where L is m x m with ones on its diagonal, which are not read; B is m x n.
inline void solve_unit_lower(int m, int n, const double* l, std::ptrdiff_t ldl, double* b,
                             std::ptrdiff_t ldb) {
  if (m <= 0 || n <= 0) return;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, m, n, 1, l,
              static_cast<int>(ldl), b, static_cast<int>(ldb));
}

}  // namespace tabane::workloads::linpack
