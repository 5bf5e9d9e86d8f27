#include "tabane/simd/copy.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/copy.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

template <class T>
struct CopyValues {
  static constexpr std::size_t kArrays = 2;
  const T* a;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return hn::LoadU(d, a + i);
  }
};

void copy_f64(const double* a, double* c, std::size_t n) {
  store_elements(hn::ScalableTag<double>(), c, n, CopyValues<double>{a});
}

void copy_stream_f64(const double* a, double* c, std::size_t n) {
  stream_elements(hn::ScalableTag<double>(), c, n, CopyValues<double>{a});
}

void copy_f32(const float* a, float* c, std::size_t n) {
  store_elements(hn::ScalableTag<float>(), c, n, CopyValues<float>{a});
}

void copy_stream_f32(const float* a, float* c, std::size_t n) {
  stream_elements(hn::ScalableTag<float>(), c, n, CopyValues<float>{a});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(copy_f64);
HWY_EXPORT(copy_stream_f64);
HWY_EXPORT(copy_f32);
HWY_EXPORT(copy_stream_f32);

void copy(std::span<const double> a, std::span<double> c, Streaming streaming) {
  TABANE_ASSERT(a.size() == c.size());
  if (streaming.applies(c.size_bytes())) {
    TABANE_DISPATCH(copy_stream_f64)(a.data(), c.data(), c.size());
  } else {
    TABANE_DISPATCH(copy_f64)(a.data(), c.data(), c.size());
  }
}

void copy(std::span<const float> a, std::span<float> c, Streaming streaming) {
  TABANE_ASSERT(a.size() == c.size());
  if (streaming.applies(c.size_bytes())) {
    TABANE_DISPATCH(copy_stream_f32)(a.data(), c.data(), c.size());
  } else {
    TABANE_DISPATCH(copy_f32)(a.data(), c.data(), c.size());
  }
}

}  // namespace tabane::simd
#endif
