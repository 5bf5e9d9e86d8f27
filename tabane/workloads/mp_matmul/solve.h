// The product on ranks.
#pragma once

#include <cstdint>
#include <tuple>

#include "tabane/comm/grid.h"
#include "tabane/workloads/mp_matmul/multiply.h"
#include "tabane/workloads/solution.h"

namespace tabane::workloads::mp_matmul {

struct SolveOptions {
  Options product = {};       // on each rank; its memory is that of one rank
  comm::GridShape grid = {};  // zeros: as fit_grid() chooses
  bool check = true;
  bool measure_limit = false;  // the rate of products of doubles
};

struct Answer {
  // operations: multiply-adds of the plain algorithm. Its check counts rows of the result whose
  // sketch or sample was wrong (verify.h).
  Solution solution;
  Cost cost;        // of rank 0
  ComplexMatrix c;  // on rank 0; of a real product `im` is empty

  auto fields() { return std::tie(solution, cost); }  // the ranks' caller gets these alone
};

// Computes a b on all ranks, which all call it with the same matrices, as multiply() does; rank 0
// gets the result. On shm ranks see the matrices that the caller has made before. Its steps and
// seconds are those of the product and of collecting it.
// throws: as multiply(); core::UsageError if grid and ranks do not fit.
Answer solve(comm::Comm& comm, const Matrix& a, const Matrix& b, mpfr_prec_t bits,
             const SolveOptions& options = {});
Answer solve(comm::Comm& comm, const ComplexMatrix& a, const ComplexMatrix& b, mpfr_prec_t bits,
             const SolveOptions& options = {});

}  // namespace tabane::workloads::mp_matmul
