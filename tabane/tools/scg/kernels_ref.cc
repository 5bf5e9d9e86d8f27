#include "tabane/tools/scg/kernels.h"

namespace tabane::scg {
namespace {

double coupling(const double* couplings, std::ptrdiff_t at) {
  return couplings == nullptr ? 0.25 : couplings[at];
}

// Row `at` of A p.
double product(const double* p, const Couplings& c, std::ptrdiff_t at, std::ptrdiff_t stride) {
  return p[at] - coupling(c.east, at) * p[at + 1] - coupling(c.east, at - 1) * p[at - 1] -
         coupling(c.south, at) * p[at + stride] - coupling(c.south, at - stride) * p[at - stride];
}

template <class F>
void for_unknowns(const Extent& extent, const F& f) {
  for (std::size_t i = 0; i < extent.rows; ++i) {
    for (std::size_t j = 0; j < extent.columns; ++j) {
      f(i, j, static_cast<std::ptrdiff_t>(i) * extent.stride + static_cast<std::ptrdiff_t>(j));
    }
  }
}

}  // namespace

double new_direction_reference(const Extent& extent, const double* r, double beta, double* p,
                               const Couplings& c) {
  double sum = 0;
  for_unknowns(extent, [&](std::size_t i, std::size_t j, std::ptrdiff_t at) {
    p[at] = r[at] + beta * p[at];
    sum += p[at] * p[at];
    if (j > 0) sum -= 2 * coupling(c.east, at - 1) * p[at] * p[at - 1];
    if (i > 0) sum -= 2 * coupling(c.south, at - extent.stride) * p[at] * p[at - extent.stride];
  });
  return sum;
}

double update_reference(const Extent& extent, const double* p, double alpha, double* r,
                        const SolutionUpdate& solution, const Couplings& couplings) {
  double sum = 0;
  for_unknowns(extent, [&](std::size_t, std::size_t, std::ptrdiff_t at) {
    if (solution.x != nullptr) solution.x[at] += solution.of_p * p[at] - solution.of_r * r[at];
    r[at] -= alpha * product(p, couplings, at, extent.stride);
    sum += r[at] * r[at];
  });
  return sum;
}

}  // namespace tabane::scg
