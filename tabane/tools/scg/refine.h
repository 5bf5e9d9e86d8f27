// Conjugate gradients that go on where those of iterate() end: slower, and far more exact.
#pragma once

#include <vector>

#include "tabane/tools/scg/halo.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {

// Where k jumps by many orders of magnitude, u can be nearly constant in a part that almost nothing
// flows into. A p is then a small difference of large products, and rounding it, or x, makes the
// part's level meaningless. So here A p is added up of what flows, k_face (p_i - p_j); so is
// (p, A p), of squares; and x has twice the precision of a double. What is lost then is of the size
// of the flows. D, the diagonal of A, is the preconditioner.
class Refinement {
 public:
  // Takes p, r and the couplings of the system, which then are of no more use to iterate(), and
  // fills the latter with what the faces conduct. of_k: multiplies k; a power of two.
  Refinement(comm::Comm& comm, const Problem& problem, System& system, Halo& halo, double of_k);

  // A's diagonal.
  double diagonal(std::ptrdiff_t row, std::ptrdiff_t column) const;

  // Adds A^-1 r to x = high + low, until |r_i| <= least A_ii everywhere, or for `most` iterations.
  // r of the system becomes what it then is by the recurrence. Returns the iterations. All ranks
  // call it.
  std::size_t solve(Field& high, Field& low, double least, std::size_t most);

 private:
  struct Rest {
    double square = 0, largest = 0;  // (r, D^-1 r); of |r_i| / A_ii
  };
  void turn(double beta);
  double curvature();
  Rest advance(double alpha, Field& high, Field& low);
  Rest add_rest(std::ptrdiff_t row, Rest rest);
  Rest over_ranks(Rest own);

  comm::Comm& comm_;
  System& system_;
  Halo& halo_;
  std::vector<double> differences_, flows_, z_;  // of a row
};

}  // namespace tabane::scg
