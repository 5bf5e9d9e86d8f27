// Solves with the triangle of a panel.
#pragma once

#include <cstddef>

namespace tabane::linpack {

// B := L^-1 B, where L is m x m with ones on its diagonal, which are not read, nor is what lies
// above them; B is m x n. Both are stored by columns, ldl and ldb elements apart.
// cost: m^2 n operations, at two thirds of the core's peak if L stays in the first-level cache. (A
// BLAS's DTRSM packs both operands, which is made for many more rows than a panel has columns: on
// Sapphire Rapids OpenBLAS 0.3.21 reaches a tenth of the peak with m = 64, a sixth with 128.)
void solve_unit_lower(int m, int n, const double* l, std::ptrdiff_t ldl, double* b,
                      std::ptrdiff_t ldb);

}  // namespace tabane::linpack
