#include "tabane/simd/add.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/add.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

template <class T>
struct AddValues {
  static constexpr std::size_t kArrays = 3;
  const T* a;
  const T* b;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
  }
};

void add_f64(const double* a, const double* b, double* c, std::size_t n) {
  store_elements(hn::ScalableTag<double>(), c, n, AddValues<double>{a, b});
}

void add_stream_f64(const double* a, const double* b, double* c, std::size_t n) {
  stream_elements(hn::ScalableTag<double>(), c, n, AddValues<double>{a, b});
}

void add_f32(const float* a, const float* b, float* c, std::size_t n) {
  store_elements(hn::ScalableTag<float>(), c, n, AddValues<float>{a, b});
}

void add_stream_f32(const float* a, const float* b, float* c, std::size_t n) {
  stream_elements(hn::ScalableTag<float>(), c, n, AddValues<float>{a, b});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(add_f64);
HWY_EXPORT(add_stream_f64);
HWY_EXPORT(add_f32);
HWY_EXPORT(add_stream_f32);

void add(std::span<const double> a, std::span<const double> b, std::span<double> c,
         Streaming streaming) {
  TABANE_ASSERT(a.size() == c.size());
  TABANE_ASSERT(b.size() == c.size());
  if (streaming.applies(c.size_bytes())) {
    TABANE_DISPATCH(add_stream_f64)(a.data(), b.data(), c.data(), c.size());
  } else {
    TABANE_DISPATCH(add_f64)(a.data(), b.data(), c.data(), c.size());
  }
}

void add(std::span<const float> a, std::span<const float> b, std::span<float> c,
         Streaming streaming) {
  TABANE_ASSERT(a.size() == c.size());
  TABANE_ASSERT(b.size() == c.size());
  if (streaming.applies(c.size_bytes())) {
    TABANE_DISPATCH(add_stream_f32)(a.data(), b.data(), c.data(), c.size());
  } else {
    TABANE_DISPATCH(add_f32)(a.data(), b.data(), c.data(), c.size());
  }
}

}  // namespace tabane::simd
#endif
