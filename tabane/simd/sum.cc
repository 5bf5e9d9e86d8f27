#include "tabane/simd/sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/sum.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/reduce-inl.h"
#include "tabane/simd/terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

double sum_f64(const double* x, std::size_t n) {
  return reduce(hn::ScalableTag<double>(), n, SumTerms<double>{x});
}

float sum_f32(const float* x, std::size_t n) {
  return reduce(hn::ScalableTag<float>(), n, SumTerms<float>{x});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(sum_f64);
HWY_EXPORT(sum_f32);

double sum(std::span<const double> x) { return TABANE_DISPATCH(sum_f64)(x.data(), x.size()); }

float sum(std::span<const float> x) { return TABANE_DISPATCH(sum_f32)(x.data(), x.size()); }

}  // namespace tabane::simd
#endif
