// The product on ranks.
#pragma once

#include <tuple>

#include "tabane/comm/grid.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/matmul/multiply.h"

namespace tabane::matmul {

// What the ranks share out.
enum class Shares {
  automatic,  // as a model of their costs says; blocks if a grid is given
  blocks,     // of the product
  primes,     // of products by residues: where numbers have many bits, and to read them costs much
};

struct SolveOptions {
  ProductOptions product =
      {};  // on each rank; its memory is that of one rank, 0: half of what is usable
  Shares shares = Shares::automatic;
  comm::GridShape grid = {};   // zeros: as fit_grid() chooses
  bool measure_limit = false;  // the rate of products of doubles
};

struct MatrixProduct {
  // operations: multiply-adds of the plain algorithm. Its check counts rows of the result whose
  // sketch or sample was wrong: see verify().
  solver::Solution solution;
  Cost cost;  // of rank 0
  bool primes_are_shared = false;
  ComplexMatrix c;  // on rank 0; of a real product `im` is empty

  auto fields() {
    return std::tie(solution, cost, primes_are_shared);
  }  // the ranks' caller gets these alone
};

// Computes a b on all ranks, which all call it with the same matrices, as multiply() does; rank 0
// gets the result. On shm ranks see the matrices that the caller has made before. Its steps and
// seconds are those of the product and of collecting it.
// throws: as multiply(); core::UsageError if grid and ranks do not fit.
MatrixProduct solve(comm::Comm& comm, const Matrix& a, const Matrix& b, mpfr_prec_t bits,
                    const SolveOptions& options = {});
MatrixProduct solve(comm::Comm& comm, const ComplexMatrix& a, const ComplexMatrix& b,
                    mpfr_prec_t bits, const SolveOptions& options = {});

}  // namespace tabane::matmul
