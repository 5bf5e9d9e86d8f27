#include "tabane/simd/set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/set.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

template <class T>
struct SetValues {
  static constexpr std::size_t kArrays = 1;
  T s;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t) const {
    return hn::Set(d, s);
  }
};

void set_f64(double* a, double s, std::size_t n) {
  store_elements(hn::ScalableTag<double>(), a, n, SetValues<double>{s});
}

void set_stream_f64(double* a, double s, std::size_t n) {
  stream_elements(hn::ScalableTag<double>(), a, n, SetValues<double>{s});
}

void set_f32(float* a, float s, std::size_t n) {
  store_elements(hn::ScalableTag<float>(), a, n, SetValues<float>{s});
}

void set_stream_f32(float* a, float s, std::size_t n) {
  stream_elements(hn::ScalableTag<float>(), a, n, SetValues<float>{s});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(set_f64);
HWY_EXPORT(set_stream_f64);
HWY_EXPORT(set_f32);
HWY_EXPORT(set_stream_f32);

void set(std::span<double> a, double s, Streaming streaming) {
  if (streaming.applies(a.size_bytes())) {
    TABANE_DISPATCH(set_stream_f64)(a.data(), s, a.size());
  } else {
    TABANE_DISPATCH(set_f64)(a.data(), s, a.size());
  }
}

void set(std::span<float> a, float s, Streaming streaming) {
  if (streaming.applies(a.size_bytes())) {
    TABANE_DISPATCH(set_stream_f32)(a.data(), s, a.size());
  } else {
    TABANE_DISPATCH(set_f32)(a.data(), s, a.size());
  }
}

}  // namespace tabane::simd
#endif
