// The frame of all reductions: independent accumulators, a fixed order, no access outside the data.
//
// Included once for every target that foreach_target.h compiles.

#if defined(TABANE_SIMD_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_SIMD_REDUCE_INL_H_
#undef TABANE_SIMD_REDUCE_INL_H_
#else
#define TABANE_SIMD_REDUCE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Eight chains of additions hide the latency of an addition or FMA on every target:
//   AVX2    4 cycles (Zen 3 adds: 3) x 2 a cycle = 8, with 8 of 16 registers left for operands;
//   AVX-512 4 cycles x 2 a cycle = 8;
//   SSE4    4 cycles x 2 a cycle = 8 additions;
//   NEON    2 to 4 cycles x 2 to 4 a cycle, but at most 2 or 3 loads a cycle feed them: 8 to 12,
//   and
//           the multiplier forwards its accumulator after 2 cycles, so 8 are enough;
//   SVE     4 cycles x 2 a cycle = 8.
// A term is at least one load, and no core in use loads more than 3 vectors a cycle.
//
// Terms is a functor with
//   kArrays: the number of arrays it reads,
//   add(d, i, sum):        sum + terms of elements [i, i + Lanes(d))
//   add_last(d, i, m, sum): the same without the lanes where the mask m is true.
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

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_SIMD_REDUCE_INL_H_
