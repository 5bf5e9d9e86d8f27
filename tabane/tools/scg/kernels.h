// The two passes of an iteration over a block, with run-time dispatch.
#pragma once

#include <cstddef>

namespace tabane::scg {

// Vectors over the block: element (i, j) is first[i * stride + j]. Each has a frame of one
// element around the block, which holds the neighbours' elements or, at the sides of the rectangle,
// 0.
struct Extent {
  std::size_t rows = 0, columns = 0;
  std::ptrdiff_t stride = 0;
};

// The elements of A besides its unit diagonal: -east[i, j] to the unknown east of (i, j), -south[i,
// j] to the one south of it. Null: 1/4 everywhere.
struct Couplings {
  const double* east = nullptr;
  const double* south = nullptr;
};

// p := r + beta p, without the frame. Returns (p, A p), in which the frame counts as 0.
double new_direction(const Extent& extent, const double* r, double beta, double* p,
                     const Couplings& couplings);

// x := x + of_p p - of_r r, with r before its update; null: x is not changed.
struct SolutionUpdate {
  double* x = nullptr;
  double of_p = 0, of_r = 0;
};

// r := r - alpha A p, with the frame of p. Returns (r, r).
double update(const Extent& extent, const double* p, double alpha, double* r,
              const SolutionUpdate& solution, const Couplings& couplings);

// out := r + beta p, with the same bits as new_direction().
void combine(const double* r, double beta, const double* p, double* out, std::size_t n);

}  // namespace tabane::scg
