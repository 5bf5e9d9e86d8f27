// The innermost loops of the elimination: factorise a few columns that fit into a cache, and solve
// with the triangle of a panel.
#pragma once

#include <cstddef>

#include "tabane/solver/blas.h"

namespace tabane::linpack {

inline constexpr int kLeafColumns = 8;

struct Pivot {
  double magnitude = -1;  // -1: no row, or only NaN
  int row = 0;
};

// Returns the first of the elements with the largest absolute value. A NaN loses to every number.
Pivot find_pivot(const double* column, int rows);

// Does one step of the elimination on the rows below the pivot's, whose element is `pivot`:
//   a(i, 0) := a(i, 0) / pivot;  a(i, j) := a(i, j) - a(i, 0) u(j - 1) for 1 <= j < columns
// Returns the pivot of column 1, found in the same pass; none if there is no such column. Columns
// are `ld` elements apart. columns <= kLeafColumns; pivot is not 0. cost: one pass over the
// columns, 2 (columns - 1) + 1 operations a row.
Pivot eliminate(double* a, std::ptrdiff_t ld, int rows, int columns, double pivot, const double* u);

// Does the same without vectors, and divides by the pivot.
Pivot eliminate_ref(double* a, std::ptrdiff_t ld, int rows, int columns, double pivot,
                    const double* u);

// B := L^-1 B, where L is m x m with ones on its diagonal, which are not read, nor is what is
// above them; B is m x n. Both are stored by columns, ldl and ldb elements apart.
// cost: m^2 n operations, at two thirds of the core's peak if L stays in the first-level cache. (A
// BLAS's DTRSM packs both operands, which is made for many more rows than a panel has columns: on
// Sapphire Rapids OpenBLAS 0.3.21 reaches a tenth of the peak with m = 64, a sixth with 128.)
void solve_unit_lower(int m, int n, const double* l, std::ptrdiff_t ldl, double* b,
                      std::ptrdiff_t ldb);

// C := C - A B, of which the elimination mostly consists. C is m x n, the inner dimension is k.
inline void subtract_product(int m, int n, int k, const double* a, std::ptrdiff_t lda,
                             const double* b, std::ptrdiff_t ldb, double* c, std::ptrdiff_t ldc) {
  if (m <= 0 || n <= 0 || k <= 0) return;
  solver::add_product(CblasNoTrans, CblasNoTrans, m, n, k, -1, a, static_cast<int>(lda), b,
                      static_cast<int>(ldb), c, static_cast<int>(ldc));
}

}  // namespace tabane::linpack
