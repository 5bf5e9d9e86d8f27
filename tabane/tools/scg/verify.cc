#include "tabane/tools/scg/verify.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tabane/comm/collectives.h"
#include "tabane/tools/scg/equation.h"

namespace tabane::scg {

solver::Check verify(comm::Comm& comm, const Problem& problem, const System& system, Halo& halo,
                     double tolerance, std::size_t iterations) {
  halo.exchange(system.x);
  const Equations<double> equations(problem, system.block(), {}, true);
  enum { kResidual, kRightSide, kSolution, kSums };
  std::array<double, kSums> sums{};
  for (std::size_t i = 0; i < system.block().rows; ++i) {
    const double* const u = system.x.row(static_cast<std::ptrdiff_t>(i));
    for (std::size_t j = 0; j < system.block().columns; ++j) {
      const Balance<double> balance = equations.at({system.x}, i, j);
      const double root = std::sqrt(balance.diagonal), factor = system.factor();
      const std::array<double, kSums> terms{balance.rest / root * factor,
                                            balance.right / root * factor, u[j] * root * factor};
      for (std::size_t k = 0; k < kSums; ++k) sums[k] += terms[k] * terms[k];
    }
  }
  comm::all_reduce(comm, sums, comm::Operation::sum);
  const double right = std::sqrt(sums[kRightSide]);
  if (right == 0) return {std::sqrt(sums[kResidual]), 0};
  const double steps = std::sqrt(static_cast<double>(iterations + 1));
  const double rounding = kRounding * 0x1p-53 * steps * std::sqrt(sums[kSolution]) / right;
  return {std::sqrt(sums[kResidual]) / right, tolerance + std::min(rounding, kMostRounding)};
}

}  // namespace tabane::scg
