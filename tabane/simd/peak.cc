#include "tabane/simd/peak.h"

#include <cstring>

#include "tabane/core/error.h"
#include "tabane/core/keep.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/peak.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

// x86 needs 4 cycles x 2 FMAs a cycle = 8 chains (5 x 2 on Haswell) and has 16 registers before
// AVX-512: 12 chains and 2 constants. Arm cores need up to 4 x 4 and have 32 registers.
#if HWY_ARCH_X86
inline constexpr std::uint64_t kChains = 12;
#else
inline constexpr std::uint64_t kChains = 16;
#endif

template <class T>
struct FmaStep {
  static constexpr std::uint64_t kFlops = 2;
  template <class V>
  HWY_INLINE V operator()(V chain, V factor, V summand) const {
    return hn::MulAdd(chain, factor, summand);
  }
};

template <class T>
struct AddStep {
  static constexpr std::uint64_t kFlops = 1;
  template <class V>
  HWY_INLINE V operator()(V chain, V /*factor*/, V summand) const {
    return hn::Add(chain, summand);
  }
};

// Scalable vectors cannot stand in arrays, hence the named chains.
template <class T, class Step>
HWY_INLINE std::uint64_t run_chains(std::uint64_t iterations, Step step) {
  const hn::ScalableTag<T> d;
  // Unknown to the compiler, so that it cannot work out the chains.
  volatile T factor_value = T(0.5), summand_value = T(1);
  const auto f = hn::Set(d, T(factor_value)), s = hn::Set(d, T(summand_value));
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

std::uint64_t fma_f64(std::uint64_t n) { return run_chains<double>(n, FmaStep<double>()); }
std::uint64_t fma_f32(std::uint64_t n) { return run_chains<float>(n, FmaStep<float>()); }
std::uint64_t add_f64(std::uint64_t n) { return run_chains<double>(n, AddStep<double>()); }
std::uint64_t add_f32(std::uint64_t n) { return run_chains<float>(n, AddStep<float>()); }

using Bits = std::uint64_t;

void read_passes(const Bits* x, std::size_t n, std::uint64_t passes) {
  const hn::ScalableTag<Bits> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  Bits rest = 0;
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    core::forget(x);
    std::size_t i = 0;
    const auto read_eight = [&]() HWY_ATTR {
      a = hn::Or(a, hn::LoadU(d, x + i));
      b = hn::Or(b, hn::LoadU(d, x + i + lanes));
      c = hn::Or(c, hn::LoadU(d, x + i + 2 * lanes));
      e = hn::Or(e, hn::LoadU(d, x + i + 3 * lanes));
      a = hn::Or(a, hn::LoadU(d, x + i + 4 * lanes));
      b = hn::Or(b, hn::LoadU(d, x + i + 5 * lanes));
      c = hn::Or(c, hn::LoadU(d, x + i + 6 * lanes));
      e = hn::Or(e, hn::LoadU(d, x + i + 7 * lanes));
      i += 8 * lanes;
    };
    while (i + 32 * lanes <= n) {
      read_eight();
      read_eight();
      read_eight();
      read_eight();
    }
    while (i + 8 * lanes <= n) read_eight();
    for (; i + lanes <= n; i += lanes) a = hn::Or(a, hn::LoadU(d, x + i));
    for (; i < n; ++i) {
      Bits last;
      std::memcpy(&last, x + i, sizeof(last));
      rest |= last;
    }
  }
  core::keep(hn::GetLane(hn::Or(hn::Or(a, b), hn::Or(c, e))) | rest);
}

struct ZeroBits {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t) const {
    return hn::Zero(d);
  }
};

struct CopyBits {
  const Bits* x;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return hn::LoadU(d, x + i);
  }
};

struct OrBits {
  const Bits* x;
  const Bits* y;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return hn::Or(hn::LoadU(d, x + i), hn::LoadU(d, y + i));
  }
};

void write_passes(Bits* y, std::size_t n, std::uint64_t passes) {
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    core::forget(y);
    store_elements(hn::ScalableTag<Bits>(), y, n, ZeroBits());
  }
}

void read_write_passes(const Bits* x, Bits* y, std::size_t n, std::uint64_t passes) {
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    core::forget(y);
    store_elements(hn::ScalableTag<Bits>(), y, n, CopyBits{x});
  }
}

void read2_write_passes(const Bits* x, const Bits* y, Bits* z, std::size_t n,
                        std::uint64_t passes) {
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    core::forget(z);
    store_elements(hn::ScalableTag<Bits>(), z, n, OrBits{x, y});
  }
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(fma_f64);
HWY_EXPORT(fma_f32);
HWY_EXPORT(add_f64);
HWY_EXPORT(add_f32);
HWY_EXPORT(read_passes);
HWY_EXPORT(write_passes);
HWY_EXPORT(read_write_passes);
HWY_EXPORT(read2_write_passes);

template <>
std::uint64_t peak_fma<double>(std::uint64_t iterations) {
  return TABANE_DISPATCH(fma_f64)(iterations);
}
template <>
std::uint64_t peak_fma<float>(std::uint64_t iterations) {
  return TABANE_DISPATCH(fma_f32)(iterations);
}
template <>
std::uint64_t peak_add<double>(std::uint64_t iterations) {
  return TABANE_DISPATCH(add_f64)(iterations);
}
template <>
std::uint64_t peak_add<float>(std::uint64_t iterations) {
  return TABANE_DISPATCH(add_f32)(iterations);
}

namespace {
// The bits are moved by intrinsics and memcpy, which may alias any type.
const std::uint64_t* bits(std::span<const double> x) {
  return reinterpret_cast<const std::uint64_t*>(x.data());
}
std::uint64_t* bits(std::span<double> x) { return reinterpret_cast<std::uint64_t*>(x.data()); }
}  // namespace

std::uint64_t read(std::span<const double> x, std::uint64_t passes) {
  TABANE_DISPATCH(read_passes)(bits(x), x.size(), passes);
  return x.size_bytes() * passes;
}

std::uint64_t write(std::span<double> y, std::uint64_t passes) {
  TABANE_DISPATCH(write_passes)(bits(y), y.size(), passes);
  return y.size_bytes() * passes;
}

std::uint64_t read_write(std::span<const double> x, std::span<double> y, std::uint64_t passes) {
  TABANE_ASSERT(x.size() == y.size());
  TABANE_DISPATCH(read_write_passes)(bits(x), bits(y), y.size(), passes);
  return 2 * y.size_bytes() * passes;
}

std::uint64_t read2_write(std::span<const double> x, std::span<const double> y, std::span<double> z,
                          std::uint64_t passes) {
  TABANE_ASSERT(x.size() == z.size() && y.size() == z.size());
  TABANE_DISPATCH(read2_write_passes)(bits(x), bits(y), bits(z), z.size(), passes);
  return 3 * z.size_bytes() * passes;
}

}  // namespace tabane::simd
#endif
