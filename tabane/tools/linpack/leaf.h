// The innermost loops of the elimination: a few columns that lie in a cache.
#pragma once

#include <cstddef>

namespace tabane::linpack {

inline constexpr int kLeafColumns = 8;

struct Pivot {
  double magnitude = -1;  // -1: no row, or only NaN
  int row = 0;
};

// Returns the first of the elements with the largest absolute value. A NaN loses to every number.
Pivot find_pivot(const double* column, int rows);

// One step of the elimination on the rows below the pivot's, whose element is `pivot`:
//   a(i, 0) := a(i, 0) / pivot;  a(i, j) := a(i, j) - a(i, 0) u(j - 1) for 1 <= j < columns
// and, in the same pass, the pivot of column 1 (without one: of none). Columns are `ld` elements
// apart. columns <= kLeafColumns; pivot is not 0.
// cost: one pass over the columns, 2 (columns - 1) + 1 operations a row.
Pivot eliminate(double* a, std::ptrdiff_t ld, int rows, int columns, double pivot, const double* u);

// The same, plainly.
Pivot eliminate_ref(double* a, std::ptrdiff_t ld, int rows, int columns, double pivot,
                    const double* u);

}  // namespace tabane::linpack
