#include <bit>

#include "tabane/tools/mine/bgv/product_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bgv/accumulate.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/tools/mine/bgv/field-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {

#if TABANE_BGV_DOUBLES

inline constexpr double kHigh = 0x1p103;  // its last bits count 2^51
inline constexpr double kLow = 0x1.8p52;  // its last bits count ones, of either sign

struct Splitter {
  V high, both;

  HWY_INLINE Splitter() : high(hn::Set(D(), kHigh)), both(hn::Set(D(), kHigh + kLow)) {}

  // Adds the bits of kHigh + multiple of 2^51 and of kLow + rest.
  HWY_INLINE void add_product(V a, V b, VU& high_sum, VU& low_sum) const {
    const DU du;
    const V multiple = hn::MulAdd(a, b, high);
    const V rest = hn::MulAdd(a, b, hn::Sub(both, multiple));
    high_sum = hn::Add(high_sum, hn::BitCast(du, multiple));
    low_sum = hn::Add(low_sum, hn::BitCast(du, rest));
  }
};

// sum += bits - products times those of the constant, modulo 2^64.
HWY_INLINE void add_bits(VU bits, double constant, std::uint64_t products, std::uint64_t* sum) {
  const DU du;
  const std::uint64_t excess = products * std::bit_cast<std::uint64_t>(constant);
  hn::StoreU(hn::Add(hn::LoadU(du, sum), hn::Sub(bits, hn::Set(du, excess))), du, sum);
}

// In registers.
struct ThreeSums {
  VU high0, high1, high2, low0, low1, low2;

  HWY_INLINE ThreeSums() { high0 = high1 = high2 = low0 = low1 = low2 = hn::Zero(DU()); }

  // outer: products in the first and in the last sum.
  HWY_INLINE void add_to(const SumWords& sums, std::size_t at, std::uint64_t outer,
                         std::uint64_t middle) const {
    const auto store = [&](VU high, VU low, std::uint64_t products, int part) {
      add_bits(high, kHigh, products, sums.high[part] + at);
      add_bits(low, kLow, products, reinterpret_cast<std::uint64_t*>(sums.low[part] + at));
    };
    store(high0, low0, outer, 0);
    store(high1, low1, middle, 1);
    store(high2, low2, outer, 2);
  }
};

bool add_operands(const FactorResidues& operands, std::size_t first, std::size_t last,
                  const SumWords& sums) {
  const Splitter splitter;
  for (std::size_t i = first; i < last; i += kLanes) {
    ThreeSums all;
    const V a0 = load_words(operands.a0 + i), a1 = load_words(operands.a1 + i);
    const V b0 = load_words(operands.b0 + i), b1 = load_words(operands.b1 + i);
    splitter.add_product(a0, b0, all.high0, all.low0);
    splitter.add_product(a0, b1, all.high1, all.low1);
    splitter.add_product(a1, b0, all.high1, all.low1);
    splitter.add_product(a1, b1, all.high2, all.low2);
    all.add_to(sums, i, 1, 2);
  }
  return true;
}

bool packed() { return true; }

void pack_groups(const std::uint64_t* c0, const std::uint64_t* c1, std::size_t groups,
                 std::size_t stride, double* out) {
  const D d;
  for (std::size_t group = 0; group < groups; ++group, out += stride) {
    for (std::size_t i = 0; i < kAtOnce; i += kLanes) {
      const V x0 = load_words(c0 + group * kAtOnce + i), x1 = load_words(c1 + group * kAtOnce + i);
      hn::StoreU(x0, d, out + i);
      hn::StoreU(x1, d, out + kAtOnce + i);
      hn::StoreU(hn::Add(x0, x1), d, out + 2 * kAtOnce + i);
    }
  }
}

void add_packed(const double* a, const double* b, std::size_t count, std::size_t at,
                const SumWords& sums) {
  const D d;
  const Splitter splitter;
  for (std::size_t i = 0; i < kAtOnce; i += kLanes) {
    ThreeSums all;
    const auto add = [&](std::size_t at_a, VU& high, VU& low) {
      splitter.add_product(hn::LoadU(d, a + at_a), hn::LoadU(d, b + at_a), high, low);
    };
    for (std::size_t k = i; k < count * kPacked; k += kPacked) {
      add(k, all.high0, all.low0);
      add(kAtOnce + k, all.high2, all.low2);
      add(2 * kAtOnce + k, all.high1, all.low1);
    }
    // Of the middle ones the excess is count times less twice count times that of the others.
    all.high1 = hn::Sub(hn::Sub(all.high1, all.high0), all.high2);
    all.low1 = hn::Sub(hn::Sub(all.low1, all.low0), all.low2);
    all.add_to(sums, at + i, count, std::uint64_t{0} - count);
  }
}

#else

bool packed() { return false; }
void pack_groups(const std::uint64_t*, const std::uint64_t*, std::size_t, std::size_t, double*) {}
void add_packed(const double*, const double*, std::size_t, std::size_t, const SumWords&) {}

bool add_operands(const FactorResidues&, std::size_t, std::size_t, const SumWords&) {
  return false;
}

#endif

}  // namespace tabane::mine::bgv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tabane/core/error.h"

namespace tabane::mine::bgv {

HWY_EXPORT(add_operands);
HWY_EXPORT(packed);
HWY_EXPORT(pack_groups);
HWY_EXPORT(add_packed);

void accumulate(const FactorResidues& operands, std::size_t first, std::size_t last,
                const SumWords& sums) {
  TABANE_ASSERT(first % kAtOnce == 0 && last % kAtOnce == 0);
  if (!TABANE_DISPATCH(add_operands)(operands, first, last, sums)) {
    accumulate_reference(operands, first, last, sums);
  }
}

bool has_packed() { return TABANE_DISPATCH(packed)(); }

void pack(const std::uint64_t* c0, const std::uint64_t* c1, std::size_t groups, std::size_t stride,
          double* out) {
  TABANE_DISPATCH(pack_groups)(c0, c1, groups, stride, out);
}

void accumulate_packed(const double* a, const double* b, std::size_t count, std::size_t at,
                       const SumWords& sums) {
  TABANE_DISPATCH(add_packed)(a, b, count, at, sums);
}

void accumulate(const std::uint64_t* a, std::size_t n, std::int64_t* low) {
  for (std::size_t i = 0; i < n; ++i) low[i] += static_cast<std::int64_t>(a[i]);
}

// Both words are made positive by what is 0 modulo p: their signs are random, and branches on them
// would take longer than all the rest.
void reduce_sums(const Modulus& modulus, const std::uint64_t* high, const std::int64_t* low,
                 std::size_t n, std::uint64_t* out) {
  constexpr std::uint64_t kAbove = std::uint64_t{1} << 63;
  const std::uint64_t weight = modulus.reduce(std::uint64_t{1} << kLowBits);
  const std::uint64_t prepared = modulus.prepare(weight);
  const std::uint64_t too_much = modulus.reduce(kAbove);
  const std::uint64_t correction =
      modulus.negate(modulus.add(too_much, modulus.multiply(too_much, weight)));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t of_high = modulus.multiply_prepared(high[i] + kAbove, weight, prepared);
    const std::uint64_t of_low = modulus.reduce(static_cast<std::uint64_t>(low[i]) + kAbove);
    out[i] = modulus.add(modulus.add(of_high, of_low), correction);
  }
}

namespace {

__extension__ using Wide = unsigned __int128;

void add(Wide product, std::uint64_t& high, std::int64_t& low) {
  high += static_cast<std::uint64_t>(product >> kLowBits);
  low += static_cast<std::int64_t>(product & ((std::uint64_t{1} << kLowBits) - 1));
}

}  // namespace

void accumulate_reference(const FactorResidues& f, std::size_t first, std::size_t last,
                          const SumWords& sums) {
  for (std::size_t i = first; i < last; ++i) {
    add(Wide(f.a0[i]) * f.b0[i], sums.high[0][i], sums.low[0][i]);
    add(Wide(f.a0[i]) * f.b1[i] + Wide(f.a1[i]) * f.b0[i], sums.high[1][i], sums.low[1][i]);
    add(Wide(f.a1[i]) * f.b1[i], sums.high[2][i], sums.low[2][i]);
  }
}

}  // namespace tabane::mine::bgv
#endif
