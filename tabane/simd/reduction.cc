#include "tabane/simd/reduction.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/reduction.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"
#include "tabane/simd/terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {
// Eight chains of additions hide the latency of an addition or FMA on every target:
//   AVX2    4 cycles (Zen 3 adds: 3) x 2 a cycle = 8, with 8 of 16 registers left for operands;
//   AVX-512 4 cycles x 2 a cycle = 8;
//   SSE4    4 cycles x 2 a cycle = 8 additions;
//   NEON    2 to 4 cycles x 2 to 4 a cycle, but at most 2 or 3 loads a cycle feed them: 8 to 12,
//           and the multiplier forwards its accumulator after 2 cycles, so 8 are enough;
//   SVE     4 cycles x 2 a cycle = 8.
// A term is at least one load, and no core in use loads more than 3 vectors a cycle.
//
// Terms is a functor with
//   kArrays: the number of arrays it reads,
//   add(d, i, sum):        sum + terms of elements [i, i + Lanes(d))
//   add_last(d, i, m, sum): the same without the lanes where the mask m is true,
//   fetch(i): asks for the cache lines where element i of each array is.
//
// Order: element k of a block of 8 vectors goes to lane k mod L of accumulator k / L; the vectors
// that remain go to accumulators 0…3, 4…5 and 6 as they fill 4, 2 and 1, the last part of a vector
// to 7. It depends on n and the target only.
//
// 16 loads an iteration, which changes no result: two blocks of one array, one of two. Fewer, and
// the branch shows in the first-level cache (up to 2 cycles where two threads share the core);
// more, and the second-level cache of Zen 5 gives half its bandwidth: prefetchers follow each load
// of a loop on its own, and the table of them is small.
template <class D, class Terms>
HWY_INLINE hn::TFromD<D> reduce(D d, std::size_t n, const Terms& terms) {
  const std::size_t lanes = hn::Lanes(d);
  if (HWY_UNLIKELY(n < lanes)) {
    const hn::CappedTag<hn::TFromD<D>, 1> one;
    auto sum = hn::Zero(one);
    for (std::size_t i = 0; i < n; ++i) sum = terms.add(one, i, sum);
    return hn::GetLane(sum);
  }
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  auto s4 = hn::Zero(d), s5 = hn::Zero(d), s6 = hn::Zero(d), s7 = hn::Zero(d);
  std::size_t i = 0;
  const auto add_block = [&]() HWY_ATTR {
    s0 = terms.add(d, i, s0);
    s1 = terms.add(d, i + lanes, s1);
    s2 = terms.add(d, i + 2 * lanes, s2);
    s3 = terms.add(d, i + 3 * lanes, s3);
    s4 = terms.add(d, i + 4 * lanes, s4);
    s5 = terms.add(d, i + 5 * lanes, s5);
    s6 = terms.add(d, i + 6 * lanes, s6);
    s7 = terms.add(d, i + 7 * lanes, s7);
    i += 8 * lanes;
  };
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
  const ByteRange& fetched = Terms::kArrays == 1 ? habits().prefetch_one : habits().prefetch;
  if (fetched.contains(n * sizeof(hn::TFromD<D>) * Terms::kArrays)) {
    constexpr std::size_t kLine = 64 / sizeof(hn::TFromD<D>);
    while (i + 8 * lanes <= n) {
      for (std::size_t line = 64; line < 72; ++line) terms.fetch(i + line * kLine);
      add_block();
    }
  }
#endif
  if constexpr (Terms::kArrays == 1) {
    while (i + 16 * lanes <= n) {
      add_block();
      add_block();
    }
  }
  if (i != n) {
    while (i + 8 * lanes <= n) add_block();
    if (i + 4 * lanes <= n) {
      s0 = terms.add(d, i, s0);
      s1 = terms.add(d, i + lanes, s1);
      s2 = terms.add(d, i + 2 * lanes, s2);
      s3 = terms.add(d, i + 3 * lanes, s3);
      i += 4 * lanes;
    }
    if (i + 2 * lanes <= n) {
      s4 = terms.add(d, i, s4);
      s5 = terms.add(d, i + lanes, s5);
      i += 2 * lanes;
    }
    if (i + lanes <= n) {
      s6 = terms.add(d, i, s6);
      i += lanes;
    }
    // The last vector overlaps elements already counted: those lanes become 0. Nothing behind the
    // data is read, on targets without fault-free masked loads too.
    if (i != n) s7 = terms.add_last(d, n - lanes, hn::FirstN(d, lanes - (n - i)), s7);
  }
  s0 = hn::Add(hn::Add(s0, s4), hn::Add(s2, s6));
  s1 = hn::Add(hn::Add(s1, s5), hn::Add(s3, s7));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

double sum_f64(const double* x, std::size_t n) {
  return reduce(hn::ScalableTag<double>(), n, SumTerms<double>{x});
}
float sum_f32(const float* x, std::size_t n) {
  return reduce(hn::ScalableTag<float>(), n, SumTerms<float>{x});
}
double sum_of_squares_f64(const double* x, std::size_t n) {
  return reduce(hn::ScalableTag<double>(), n, SquareTerms<double>{x});
}
float sum_of_squares_f32(const float* x, std::size_t n) {
  return reduce(hn::ScalableTag<float>(), n, SquareTerms<float>{x});
}
double dot_f64(const double* x, const double* y, std::size_t n) {
  return reduce(hn::ScalableTag<double>(), n, ProductTerms<double>{x, y});
}
float dot_f32(const float* x, const float* y, std::size_t n) {
  return reduce(hn::ScalableTag<float>(), n, ProductTerms<float>{x, y});
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(sum_f64);
HWY_EXPORT(sum_f32);
HWY_EXPORT(sum_of_squares_f64);
HWY_EXPORT(sum_of_squares_f32);
HWY_EXPORT(dot_f64);
HWY_EXPORT(dot_f32);

double sum(std::span<const double> x) { return TABANE_DISPATCH(sum_f64)(x.data(), x.size()); }
float sum(std::span<const float> x) { return TABANE_DISPATCH(sum_f32)(x.data(), x.size()); }

double sum_of_squares(std::span<const double> x) {
  return TABANE_DISPATCH(sum_of_squares_f64)(x.data(), x.size());
}
float sum_of_squares(std::span<const float> x) {
  return TABANE_DISPATCH(sum_of_squares_f32)(x.data(), x.size());
}

double dot(std::span<const double> x, std::span<const double> y) {
  TABANE_ASSERT(x.size() == y.size());
  return TABANE_DISPATCH(dot_f64)(x.data(), y.data(), x.size());
}
float dot(std::span<const float> x, std::span<const float> y) {
  TABANE_ASSERT(x.size() == y.size());
  return TABANE_DISPATCH(dot_f32)(x.data(), y.data(), x.size());
}

}  // namespace tabane::simd
#endif
