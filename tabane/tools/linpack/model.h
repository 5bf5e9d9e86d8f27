// What solving n equations takes.
#pragma once

#include <cstddef>

namespace tabane::linpack {

// As High-Performance Linpack counts them, whatever is really done.
inline double operations(double n) { return 2 * n * n * n / 3 + 3 * n * n / 2; }

// Of all ranks together, in bytes: the matrix with its right side; two panels, that in use and the
// next one, the rows that are swapped, and what the check takes, on each rank.
inline double bytes_needed(double n, int block, int rows, int columns) {
  const double panel = (n / rows + block + 16) * block;
  const double swapped = rows > 1 ? 3 * (n / columns + block) * block : 0;
  return 8 * ((n + 16 * rows) * (n + 1) + rows * columns * (2 * panel + swapped + 10 * n));
}

}  // namespace tabane::linpack
