#include "tabane/simd/axpy.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/axpy.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

template <class T>
struct AxpyValues {
  static constexpr std::size_t kArrays = 2;
  T a;
  const T* x;
  const T* y;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return add_product(hn::LoadU(d, y + i), hn::Set(d, a), hn::LoadU(d, x + i));
  }
};

void axpy_f64(double a, const double* x, double* y, std::size_t n) {
  store_elements(hn::ScalableTag<double>(), y, n, AxpyValues<double>{a, x, y});
}

void axpy_f32(float a, const float* x, float* y, std::size_t n) {
  store_elements(hn::ScalableTag<float>(), y, n, AxpyValues<float>{a, x, y});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(axpy_f64);
HWY_EXPORT(axpy_f32);

void axpy(double a, std::span<const double> x, std::span<double> y) {
  TABANE_ASSERT(x.size() == y.size());
  TABANE_DISPATCH(axpy_f64)(a, x.data(), y.data(), y.size());
}

void axpy(float a, std::span<const float> x, std::span<float> y) {
  TABANE_ASSERT(x.size() == y.size());
  TABANE_DISPATCH(axpy_f32)(a, x.data(), y.data(), y.size());
}

}  // namespace tabane::simd
#endif
