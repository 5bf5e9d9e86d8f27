#include "tabane/simd/sum_of_squares.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/sum_of_squares.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/reduce-inl.h"
#include "tabane/simd/terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

double sum_of_squares_f64(const double* x, std::size_t n) {
  return reduce(hn::ScalableTag<double>(), n, SquareTerms<double>{x});
}

float sum_of_squares_f32(const float* x, std::size_t n) {
  return reduce(hn::ScalableTag<float>(), n, SquareTerms<float>{x});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(sum_of_squares_f64);
HWY_EXPORT(sum_of_squares_f32);

double sum_of_squares(std::span<const double> x) {
  return TABANE_DISPATCH(sum_of_squares_f64)(x.data(), x.size());
}

float sum_of_squares(std::span<const float> x) {
  return TABANE_DISPATCH(sum_of_squares_f32)(x.data(), x.size());
}

}  // namespace tabane::simd
#endif
