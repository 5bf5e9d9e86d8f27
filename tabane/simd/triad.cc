#include "tabane/simd/triad.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/triad.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

template <class T>
struct TriadValues {
  static constexpr std::size_t kArrays = 3;
  const T* b;
  T s;
  const T* c;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return add_product(hn::LoadU(d, b + i), hn::Set(d, s), hn::LoadU(d, c + i));
  }
};

void triad_f64(const double* b, double s, const double* c, double* a, std::size_t n) {
  store_elements(hn::ScalableTag<double>(), a, n, TriadValues<double>{b, s, c});
}

void triad_stream_f64(const double* b, double s, const double* c, double* a, std::size_t n) {
  stream_elements(hn::ScalableTag<double>(), a, n, TriadValues<double>{b, s, c});
}

void triad_f32(const float* b, float s, const float* c, float* a, std::size_t n) {
  store_elements(hn::ScalableTag<float>(), a, n, TriadValues<float>{b, s, c});
}

void triad_stream_f32(const float* b, float s, const float* c, float* a, std::size_t n) {
  stream_elements(hn::ScalableTag<float>(), a, n, TriadValues<float>{b, s, c});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(triad_f64);
HWY_EXPORT(triad_stream_f64);
HWY_EXPORT(triad_f32);
HWY_EXPORT(triad_stream_f32);

void triad(std::span<const double> b, double s, std::span<const double> c, std::span<double> a,
           Streaming streaming) {
  TABANE_ASSERT(b.size() == a.size());
  TABANE_ASSERT(c.size() == a.size());
  if (streaming.applies(a.size_bytes())) {
    TABANE_DISPATCH(triad_stream_f64)(b.data(), s, c.data(), a.data(), a.size());
  } else {
    TABANE_DISPATCH(triad_f64)(b.data(), s, c.data(), a.data(), a.size());
  }
}

void triad(std::span<const float> b, float s, std::span<const float> c, std::span<float> a,
           Streaming streaming) {
  TABANE_ASSERT(b.size() == a.size());
  TABANE_ASSERT(c.size() == a.size());
  if (streaming.applies(a.size_bytes())) {
    TABANE_DISPATCH(triad_stream_f32)(b.data(), s, c.data(), a.data(), a.size());
  } else {
    TABANE_DISPATCH(triad_f32)(b.data(), s, c.data(), a.data(), a.size());
  }
}

}  // namespace tabane::simd
#endif
