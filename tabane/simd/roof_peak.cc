#include "tabane/core/measurement.h"
#include "tabane/simd/roof.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/roof_peak.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x86 needs 4 cycles x 2 FMAs a cycle = 8 chains (5 x 2 on Haswell) and has 16 registers before
// AVX-512: 12 chains and 2 constants. Arm cores need up to 4 x 4 and have 32 registers.
#if HWY_ARCH_X86
inline constexpr std::uint64_t kChains = 12;
#else
inline constexpr std::uint64_t kChains = 16;
#endif

struct FmaStep {
  static constexpr std::uint64_t kFlops = 2;
  template <class V>
  HWY_INLINE V operator()(V chain, V factor, V summand) const {
    return hn::MulAdd(chain, factor, summand);
  }
};

struct AddStep {
  static constexpr std::uint64_t kFlops = 1;
  template <class V>
  HWY_INLINE V operator()(V chain, V /*factor*/, V summand) const {
    return hn::Add(chain, summand);
  }
};

// Scalable vectors cannot stand in arrays, hence the named chains.
template <class Step>
HWY_INLINE std::uint64_t run_chains(std::uint64_t iterations, Step step) {
  const hn::ScalableTag<double> d;
  // Unknown to the compiler, so that it cannot work out the chains.
  volatile double factor = 0.5, summand = 1;
  const auto f = hn::Set(d, double(factor)), s = hn::Set(d, double(summand));
  // Different beginnings, so that no two chains are the same to the compiler.
  auto c0 = s, c1 = hn::Add(s, c0), c2 = hn::Add(s, c1), c3 = hn::Add(s, c2), c4 = hn::Add(s, c3),
       c5 = hn::Add(s, c4);
  auto c6 = hn::Add(s, c5), c7 = hn::Add(s, c6), c8 = hn::Add(s, c7), c9 = hn::Add(s, c8),
       c10 = hn::Add(s, c9), c11 = hn::Add(s, c10);
#if !HWY_ARCH_X86
  auto c12 = hn::Add(s, c11), c13 = hn::Add(s, c12), c14 = hn::Add(s, c13), c15 = hn::Add(s, c14);
#endif
  for (std::uint64_t i = 0; i < iterations; ++i) {
    c0 = step(c0, f, s), c1 = step(c1, f, s), c2 = step(c2, f, s), c3 = step(c3, f, s);
    c4 = step(c4, f, s), c5 = step(c5, f, s), c6 = step(c6, f, s), c7 = step(c7, f, s);
    c8 = step(c8, f, s), c9 = step(c9, f, s), c10 = step(c10, f, s), c11 = step(c11, f, s);
#if !HWY_ARCH_X86
    c12 = step(c12, f, s), c13 = step(c13, f, s), c14 = step(c14, f, s), c15 = step(c15, f, s);
#endif
  }
  c0 =
      hn::Add(hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)), hn::Add(hn::Add(c4, c5), hn::Add(c6, c7)));
  c0 = hn::Add(c0, hn::Add(hn::Add(c8, c9), hn::Add(c10, c11)));
#if !HWY_ARCH_X86
  c0 = hn::Add(c0, hn::Add(hn::Add(c12, c13), hn::Add(c14, c15)));
#endif
  core::keep(hn::GetLane(c0));
  return iterations * kChains * hn::Lanes(d) * Step::kFlops;
}

std::uint64_t fmas(std::uint64_t iterations) { return run_chains(iterations, FmaStep()); }
std::uint64_t adds(std::uint64_t iterations) { return run_chains(iterations, AddStep()); }

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(fmas);
HWY_EXPORT(adds);

std::uint64_t peak_fma(std::uint64_t iterations) { return TABANE_DISPATCH(fmas)(iterations); }
std::uint64_t peak_add(std::uint64_t iterations) { return TABANE_DISPATCH(adds)(iterations); }

}  // namespace tabane::simd
#endif
