#include "tabane/tools/matmul/residue_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/matmul/reduce.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::matmul::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x - p round(x / p). The product is an integer of at most 2^53, so it is exact without an FMA,
// too.
template <class D, class V>
HWY_INLINE V residue(D d, V x, const Modulus& modulus) {
  const auto quotient = hn::Round(hn::Mul(x, hn::Set(d, modulus.inverse)));
  return hn::NegMulAdd(quotient, hn::Set(d, modulus.p), x);
}

// Calls step(d, i) for all i, in whole vectors and then one by one.
template <class Step>
HWY_INLINE void for_elements(std::size_t n, const Step& step) {
  const hn::ScalableTag<double> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) step(d, i);
  const hn::CappedTag<double, 1> one;
  for (; i < n; ++i) step(one, i);
}

template <class D>
HWY_INLINE hn::Vec<D> load_integers(D d, const std::int32_t* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::int32_t, D>(), from));
}

template <class D>
HWY_INLINE void store_integers(D, hn::Vec<D> value, std::int32_t* to) {
  const hn::Rebind<std::int32_t, D> di;
  hn::StoreU(hn::DemoteTo(di, value), di, to);
}

void reduce_doubles(const double* from, const double* added, double* to, std::size_t n,
                    const Modulus& modulus) {
  for_elements(n, [&](auto d, std::size_t i) {
    auto x = hn::LoadU(d, from + i);
    if (added != nullptr) x = hn::Add(x, hn::LoadU(d, added + i));
    hn::StoreU(residue(d, x, modulus), d, to + i);
  });
}

void reduce_integers(const double* from, std::int32_t* to, std::size_t n, const Modulus& modulus,
                     bool accumulate) {
  for_elements(n, [&](auto d, std::size_t i) {
    auto x = hn::LoadU(d, from + i);
    if (accumulate) x = hn::Add(x, load_integers(d, to + i));
    store_integers(d, residue(d, x, modulus), to + i);
  });
}

void reduce_three(const double* re_re, const double* im_im, const double* both, std::int32_t* re,
                  std::int32_t* im, std::size_t n, const Modulus& modulus, bool accumulate) {
  for_elements(n, [&](auto d, std::size_t i) {
    const auto first = residue(d, hn::LoadU(d, re_re + i), modulus);
    const auto second = residue(d, hn::LoadU(d, im_im + i), modulus);
    const auto third = residue(d, hn::LoadU(d, both + i), modulus);
    auto x = hn::Sub(first, second), y = hn::Sub(third, hn::Add(first, second));
    if (accumulate) {
      x = hn::Add(x, load_integers(d, re + i));
      y = hn::Add(y, load_integers(d, im + i));
    }
    store_integers(d, residue(d, x, modulus), re + i);
    store_integers(d, residue(d, y, modulus), im + i);
  });
}

void widen_integers(const std::int32_t* from, double* to, std::size_t n) {
  for_elements(n,
               [&](auto d, std::size_t i) { hn::StoreU(load_integers(d, from + i), d, to + i); });
}

}  // namespace tabane::matmul::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::matmul {

HWY_EXPORT(reduce_doubles);
HWY_EXPORT(reduce_integers);
HWY_EXPORT(reduce_three);
HWY_EXPORT(widen_integers);

void reduce(const double* from, const double* added, double* to, std::size_t n,
            const Modulus& modulus) {
  TABANE_DISPATCH(reduce_doubles)(from, added, to, n, modulus);
}
void reduce(const double* from, std::int32_t* to, std::size_t n, const Modulus& modulus,
            bool accumulate) {
  TABANE_DISPATCH(reduce_integers)(from, to, n, modulus, accumulate);
}
void reduce_complex(const double* re_re, const double* im_im, const double* both, std::int32_t* re,
                    std::int32_t* im, std::size_t n, const Modulus& modulus, bool accumulate) {
  TABANE_DISPATCH(reduce_three)(re_re, im_im, both, re, im, n, modulus, accumulate);
}
void widen(const std::int32_t* from, double* to, std::size_t n) {
  TABANE_DISPATCH(widen_integers)(from, to, n);
}

}  // namespace tabane::matmul
#endif
