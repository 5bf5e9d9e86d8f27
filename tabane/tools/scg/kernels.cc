#include "tabane/tools/scg/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/scg/kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/tools/scg/passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::scg::HWY_NAMESPACE {

double direction_uniform(const Extent& extent, const double* r, double beta, double* p,
                         const Couplings& couplings) {
  return direction<false>(extent, r, beta, p, couplings);
}
double direction_coupled(const Extent& extent, const double* r, double beta, double* p,
                         const Couplings& couplings) {
  return direction<true>(extent, r, beta, p, couplings);
}

double update_r_uniform(const Extent& extent, const double* p, double alpha, double* r,
                        const SolutionUpdate& solution, const Couplings& couplings) {
  return update_rows<false, false>(extent, p, alpha, r, solution, couplings);
}
double update_r_coupled(const Extent& extent, const double* p, double alpha, double* r,
                        const SolutionUpdate& solution, const Couplings& couplings) {
  return update_rows<true, false>(extent, p, alpha, r, solution, couplings);
}
double update_both_uniform(const Extent& extent, const double* p, double alpha, double* r,
                           const SolutionUpdate& solution, const Couplings& couplings) {
  return update_rows<false, true>(extent, p, alpha, r, solution, couplings);
}
double update_both_coupled(const Extent& extent, const double* p, double alpha, double* r,
                           const SolutionUpdate& solution, const Couplings& couplings) {
  return update_rows<true, true>(extent, p, alpha, r, solution, couplings);
}

void combine_vectors(const double* r, double beta, const double* p, double* out, std::size_t n) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(combined(d, r + i, beta, p + i), d, out + i);
  }
  for (; i < n; ++i) hn::StoreU(combined(one, r + i, beta, p + i), one, out + i);
}

}  // namespace tabane::scg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::scg {

HWY_EXPORT(direction_uniform);
HWY_EXPORT(direction_coupled);
HWY_EXPORT(update_r_uniform);
HWY_EXPORT(update_r_coupled);
HWY_EXPORT(update_both_uniform);
HWY_EXPORT(update_both_coupled);
HWY_EXPORT(combine_vectors);

double new_direction(const Extent& extent, const double* r, double beta, double* p,
                     const Couplings& couplings) {
  if (couplings.east == nullptr) {
    return TABANE_DISPATCH(direction_uniform)(extent, r, beta, p, couplings);
  }
  return TABANE_DISPATCH(direction_coupled)(extent, r, beta, p, couplings);
}

double update(const Extent& extent, const double* p, double alpha, double* r,
              const SolutionUpdate& solution, const Couplings& couplings) {
  if (solution.x == nullptr) {
    if (couplings.east == nullptr) {
      return TABANE_DISPATCH(update_r_uniform)(extent, p, alpha, r, solution, couplings);
    }
    return TABANE_DISPATCH(update_r_coupled)(extent, p, alpha, r, solution, couplings);
  }
  if (couplings.east == nullptr) {
    return TABANE_DISPATCH(update_both_uniform)(extent, p, alpha, r, solution, couplings);
  }
  return TABANE_DISPATCH(update_both_coupled)(extent, p, alpha, r, solution, couplings);
}

void combine(const double* r, double beta, const double* p, double* out, std::size_t n) {
  TABANE_DISPATCH(combine_vectors)(r, beta, p, out, n);
}

}  // namespace tabane::scg
#endif
