// The frame of all kernels that write a vector: destination aligned, no access outside the data,
// and every element computed from the operands as they were before the call.

#if defined(TABANE_SIMD_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_SIMD_ELEMENTWISE_INL_H_
#undef TABANE_SIMD_ELEMENTWISE_INL_H_
#else
#define TABANE_SIMD_ELEMENTWISE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct PlainStore {
  template <class V, class D, class T>
  HWY_INLINE void operator()(V v, D d, T* to) const {
    hn::Store(v, d, to);
  }
};

struct StreamStore {
  template <class V, class D, class T>
  HWY_INLINE void operator()(V v, D d, T* to) const {
    hn::Stream(v, d, to);
  }
};

// Elements before the first whole vector of the destination; at most lanes - 1.
template <class T>
HWY_INLINE std::size_t misaligned_elements(const T* to, std::size_t lanes) {
  const std::size_t vector = lanes * sizeof(T);
  return ((0 - reinterpret_cast<std::uintptr_t>(to)) & (vector - 1)) / sizeof(T);
}

// Four vectors at [i, i + 4 Lanes(d)): loads first, so that they need not wait for stores to show
// where they go.
template <class D, class T, class Value, class StoreTo>
HWY_INLINE void store_four(D d, T* to, std::size_t i, const Value& value, StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  const auto v0 = value(d, i);
  const auto v1 = value(d, i + lanes);
  const auto v2 = value(d, i + 2 * lanes);
  const auto v3 = value(d, i + 3 * lanes);
  store(v0, d, to + i);
  store(v1, d, to + i + lanes);
  store(v2, d, to + i + 2 * lanes);
  store(v3, d, to + i + 3 * lanes);
}

// value(d, i): the results of elements [i, i + Lanes(d)).
//
// A store that crosses cache lines costs as much as two, a streaming store must be aligned: so
// stores begin at the first aligned element. The elements before it and behind the last whole
// vector are the first and the last vector of the data, computed before anything is stored (an
// operand may be the destination) and stored, unaligned, when the rest is done. Where they overlap
// it, both hold the same.
template <class D, class T, class Value, class StoreTo>
HWY_INLINE void for_elements(D d, T* to, std::size_t n, const Value& value, StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  if (HWY_UNLIKELY(n < lanes)) {
    const hn::CappedTag<T, 1> one;
    for (std::size_t i = 0; i < n; ++i) hn::StoreU(value(one, i), one, to + i);
    return;
  }
  std::size_t i = misaligned_elements(to, lanes);
  const bool has_first = i != 0;
  const bool has_last = (n - i) % lanes != 0;
  auto first = hn::Zero(d), last = first;
  if (has_first) first = value(d, 0);
  if (has_last) last = value(d, n - lanes);
  for (; i + 8 * lanes <= n; i += 8 * lanes) {
    store_four(d, to, i, value, store);
    store_four(d, to, i + 4 * lanes, value, store);
  }
  for (; i + lanes <= n; i += lanes) store(value(d, i), d, to + i);
  if (has_first) hn::StoreU(first, d, to);
  if (has_last) hn::StoreU(last, d, to + (n - lanes));
}

template <class D, class T, class Value>
HWY_INLINE void store_elements(D d, T* to, std::size_t n, const Value& value) {
  for_elements(d, to, n, value, PlainStore());
}

// The same past the caches: saves reading the destination's lines before they are overwritten.
template <class D, class T, class Value>
HWY_INLINE void stream_elements(D d, T* to, std::size_t n, const Value& value) {
  for_elements(d, to, n, value, StreamStore());
  hwy::FlushStream();
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_SIMD_ELEMENTWISE_INL_H_
