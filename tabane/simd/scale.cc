#include "tabane/simd/scale.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/scale.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

template <class T>
struct ScaleValues {
  static constexpr std::size_t kArrays = 2;
  T s;
  const T* c;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return hn::Mul(hn::Set(d, s), hn::LoadU(d, c + i));
  }
};

void scale_f64(double s, const double* c, double* b, std::size_t n) {
  store_elements(hn::ScalableTag<double>(), b, n, ScaleValues<double>{s, c});
}

void scale_stream_f64(double s, const double* c, double* b, std::size_t n) {
  stream_elements(hn::ScalableTag<double>(), b, n, ScaleValues<double>{s, c});
}

void scale_f32(float s, const float* c, float* b, std::size_t n) {
  store_elements(hn::ScalableTag<float>(), b, n, ScaleValues<float>{s, c});
}

void scale_stream_f32(float s, const float* c, float* b, std::size_t n) {
  stream_elements(hn::ScalableTag<float>(), b, n, ScaleValues<float>{s, c});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(scale_f64);
HWY_EXPORT(scale_stream_f64);
HWY_EXPORT(scale_f32);
HWY_EXPORT(scale_stream_f32);

void scale(double s, std::span<const double> c, std::span<double> b, Streaming streaming) {
  TABANE_ASSERT(c.size() == b.size());
  if (streaming.applies(b.size_bytes())) {
    TABANE_DISPATCH(scale_stream_f64)(s, c.data(), b.data(), b.size());
  } else {
    TABANE_DISPATCH(scale_f64)(s, c.data(), b.data(), b.size());
  }
}

void scale(float s, std::span<const float> c, std::span<float> b, Streaming streaming) {
  TABANE_ASSERT(c.size() == b.size());
  if (streaming.applies(b.size_bytes())) {
    TABANE_DISPATCH(scale_stream_f32)(s, c.data(), b.data(), b.size());
  } else {
    TABANE_DISPATCH(scale_f32)(s, c.data(), b.data(), b.size());
  }
}

}  // namespace tabane::simd
#endif
