// The factorisation of a block on the diagonal.
#pragma once

#include <cstddef>
#include <vector>

namespace tabane::slalom {

// Replaces the lower part of the symmetric n x n block by L and D: A = L D L^T, L with ones on its
// diagonal, where D is kept. What lies above the diagonal is overwritten. No pivots are searched:
// for blocks with a dominant diagonal. space: for its own use. cost: n^3 / 3 operations.
void factor_block(double* a, int n, std::size_t ld, std::vector<double>& space);

}  // namespace tabane::slalom
