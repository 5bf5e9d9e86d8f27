#include "tabane/simd/dot.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/dot.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/reduce-inl.h"
#include "tabane/simd/terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

double dot_f64(const double* x, const double* y, std::size_t n) {
  return reduce(hn::ScalableTag<double>(), n, ProductTerms<double>{x, y});
}

float dot_f32(const float* x, const float* y, std::size_t n) {
  return reduce(hn::ScalableTag<float>(), n, ProductTerms<float>{x, y});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(dot_f64);
HWY_EXPORT(dot_f32);

double dot(std::span<const double> x, std::span<const double> y) {
  TABANE_ASSERT(x.size() == y.size());
  return TABANE_DISPATCH(dot_f64)(x.data(), y.data(), x.size());
}

float dot(std::span<const float> x, std::span<const float> y) {
  TABANE_ASSERT(x.size() == y.size());
  return TABANE_DISPATCH(dot_f32)(x.data(), y.data(), x.size());
}

}  // namespace tabane::simd
#endif
