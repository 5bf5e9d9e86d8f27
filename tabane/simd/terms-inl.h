// The terms that the reductions add up.

#if defined(TABANE_SIMD_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_SIMD_TERMS_INL_H_
#undef TABANE_SIMD_TERMS_INL_H_
#else
#define TABANE_SIMD_TERMS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct SumTerms {
  static constexpr int kArrays = 1;
  const T* x;

  HWY_INLINE void fetch(std::size_t i) const { hwy::Prefetch(x + i); }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, std::size_t i, V sum) const {
    return hn::Add(sum, hn::LoadU(d, x + i));
  }
  template <class D, class M, class V = hn::Vec<D>>
  HWY_INLINE V add_last(D d, std::size_t i, M counted, V sum) const {
    return hn::Add(sum, hn::IfThenZeroElse(counted, hn::LoadU(d, x + i)));
  }
};

template <class T>
struct SquareTerms {
  static constexpr int kArrays = 1;
  const T* x;

  HWY_INLINE void fetch(std::size_t i) const { hwy::Prefetch(x + i); }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, std::size_t i, V sum) const {
    const V v = hn::LoadU(d, x + i);
    return hn::MulAdd(v, v, sum);
  }
  template <class D, class M, class V = hn::Vec<D>>
  HWY_INLINE V add_last(D d, std::size_t i, M counted, V sum) const {
    const V v = hn::IfThenZeroElse(counted, hn::LoadU(d, x + i));
    return hn::MulAdd(v, v, sum);
  }
};

template <class T>
struct ProductTerms {
  static constexpr int kArrays = 2;
  const T* x;
  const T* y;

  HWY_INLINE void fetch(std::size_t i) const {
    hwy::Prefetch(x + i);
    hwy::Prefetch(y + i);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, std::size_t i, V sum) const {
    return hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sum);
  }
  // Both operands lose the counted lanes: 0 times an infinity would be NaN.
  template <class D, class M, class V = hn::Vec<D>>
  HWY_INLINE V add_last(D d, std::size_t i, M counted, V sum) const {
    return hn::MulAdd(hn::IfThenZeroElse(counted, hn::LoadU(d, x + i)),
                      hn::IfThenZeroElse(counted, hn::LoadU(d, y + i)), sum);
  }
};

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_SIMD_TERMS_INL_H_
