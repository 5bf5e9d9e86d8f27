// The frame of all kernels that write a vector: destination aligned, no access outside the data,
// each element computed and stored once, so that an operand may be the destination.

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

#include "tabane/simd/habits.h"

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

// summand + factor * v. On x86 before AVX-512 a product and a sum, each rounded: on Zen 3 an FMA
// together with a store lasts 1.5 cycles unless the two happen to fall to different schedulers,
// whereas a product, a sum and a store last 1, and as both take their operand from memory there are
// no more instructions. Vectors of 512 bits have two pipes for all arithmetic on Intel's cores:
// there two operations instead of one cost a fifth of the speed.
template <class V>
HWY_INLINE V add_product(V summand, V factor, V v) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES < 64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  auto product = hn::Mul(factor, v);
  // Else the compiler would make the two an FMA again.
  asm("" : "+v"(product.raw));
  return hn::Add(product, summand);
#else
  return hn::MulAdd(factor, v, summand);
#endif
}

// Four vectors at [i, i + 4 Lanes(d)), each stored before the next is loaded: loads and stores then
// reach their pipes evenly mixed. In groups (four vectors of loads, then four stores) Zen 3 needs a
// fifth more cycles.
template <class D, class T, class Value, class StoreTo>
HWY_INLINE void store_four(D d, T* to, std::size_t i, const Value& value, StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  store(value(d, i), d, to + i);
  store(value(d, i + lanes), d, to + i + lanes);
  store(value(d, i + 2 * lanes), d, to + i + 2 * lanes);
  store(value(d, i + 3 * lanes), d, to + i + 3 * lanes);
}

// Whole vectors from element i on, kPages pages at once: each page is a stream of its own to the
// prefetchers, which stop at its end. Returns the first element not done.
template <int kPages, class D, class T, class Value, class StoreTo>
HWY_INLINE std::size_t for_pages(D d, T* to, std::size_t i, std::size_t n, const Value& value,
                                 StoreTo store) {
  constexpr std::size_t kPage = 4096 / sizeof(T);
  const std::size_t step = 4 * hn::Lanes(d);
  if (kPage % step != 0) return i;
  for (; i + kPages * kPage <= n; i += kPages * kPage) {
    for (std::size_t k = i; k < i + kPage; k += step) {
      for (int page = 0; page < kPages; ++page) store_four(d, to, k + page * kPage, value, store);
    }
  }
  return i;
}

// All whole vectors from element i on, kFours times four an iteration, or kPages pages at once.
template <int kFours, int kPages, class D, class T, class Value, class StoreTo>
HWY_INLINE void for_vectors(D d, T* to, std::size_t i, std::size_t n, const Value& value,
                            StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (kPages > 1) i = for_pages<kPages>(d, to, i, n, value, store);
  if constexpr (kFours > 1) {
    for (; i + kFours * 4 * lanes <= n; i += kFours * 4 * lanes) {
      for (int four = 0; four < kFours; ++four) {
        store_four(d, to, i + four * 4 * lanes, value, store);
      }
    }
  }
  for (; i + 4 * lanes <= n; i += 4 * lanes) store_four(d, to, i, value, store);
  for (; i + lanes <= n; i += lanes) store(value(d, i), d, to + i);
}

// `count` elements from i on, fewer than Lanes(d), in parts of 1, 2, 4 … as its bits say: the small
// ones first where the elements end at a whole vector of the destination, else last. So no part
// crosses a cache line, which costs as much as two stores, or a page, which costs ten.
template <bool kSmallFirst, std::size_t kPart, class D, class T, class Value>
HWY_INLINE void store_parts(D d, T* to, std::size_t i, std::size_t count, const Value& value) {
  if constexpr (kPart < hn::MaxLanes(D())) {
    if ((count & kPart) != 0) {
      const hn::CappedTag<T, kPart> part;
      const std::size_t at = i + (kSmallFirst ? count & (kPart - 1) : count & ~(2 * kPart - 1));
      hn::StoreU(value(part, at), part, to + at);
    }
    store_parts<kSmallFirst, 2 * kPart>(d, to, i, count, value);
  }
}

// value(d, i): the results of elements [i, i + Lanes(d)). Whole vectors begin at the first aligned
// element of the destination.
template <int kFours, int kPages, class D, class T, class Value, class StoreTo>
HWY_INLINE void for_elements(D d, T* to, std::size_t n, const Value& value, StoreTo store) {
  const std::size_t lanes = hn::Lanes(d);
  if (HWY_UNLIKELY(n < lanes)) {
    const hn::CappedTag<T, 1> one;
    for (std::size_t i = 0; i < n; ++i) hn::StoreU(value(one, i), one, to + i);
    return;
  }
  const std::size_t begin = misaligned_elements(to, lanes);
  const std::size_t left = (n - begin) % lanes;
  if (HWY_UNLIKELY(begin != 0)) store_parts<true, 1>(d, to, 0, begin, value);
  for_vectors<kFours, kPages>(d, to, begin, n, value, store);
  if (HWY_UNLIKELY(left != 0)) store_parts<false, 1>(d, to, n - left, left, value);
}

// Through the caches. The loop depends on where the arrays, Value::kArrays with the destination,
// have room:
//   in a first-level cache (32 or 48 KiB) 16 vectors an iteration, as a taken branch costs up to
//   2 cycles where two threads share the core;
//   where they just fill it, 4, a fifth faster there on Sapphire Rapids;
//   beyond it 8, so that at most 16 loads stand in the loop: with more, Zen 5 reads its
//   second-level cache at half speed, as if prefetchers that follow each load of a loop ran out of
//   entries.
template <class D, class T, class Value>
HWY_INLINE void store_elements(D d, T* to, std::size_t n, const Value& value) {
  constexpr std::size_t kKiB = 1024;
  const std::size_t bytes = n * sizeof(T) * Value::kArrays;
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
  constexpr std::size_t kNear = 64 * kKiB;
  if (bytes <= kNear ? habits().half_vectors_near : habits().half_vectors_far) {
    const hn::Half<D> half;
    if (bytes <= kNear) return for_elements<4, 1>(half, to, n, value, PlainStore());
    return for_elements<2, 1>(half, to, n, value, PlainStore());
  }
#endif
  if (bytes <= 40 * kKiB) return for_elements<4, 1>(d, to, n, value, PlainStore());
  if (bytes <= 64 * kKiB) return for_elements<1, 1>(d, to, n, value, PlainStore());
  for_elements<2, 1>(d, to, n, value, PlainStore());
}

// The same past the caches: saves reading the destination's lines before they are overwritten.
template <class D, class T, class Value>
HWY_INLINE void stream_elements(D d, T* to, std::size_t n, const Value& value) {
  constexpr int kPages = Value::kArrays == 1 ? 1 : Value::kArrays == 2 ? 8 : 4;
  if (kPages > 1 && habits().several_pages) {
    for_elements<4, kPages>(d, to, n, value, StreamStore());
  } else {
    for_elements<4, 1>(d, to, n, value, StreamStore());
  }
  hwy::FlushStream();
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_SIMD_ELEMENTWISE_INL_H_
