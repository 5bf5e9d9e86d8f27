// Residues below 2^50 in vectors of doubles: exact with fused multiply-adds.

#if defined(TABANE_FHE_MINING_BGV_FIELD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_FHE_MINING_BGV_FIELD_INL_H_
#undef TABANE_FHE_MINING_BGV_FIELD_INL_H_
#else
#define TABANE_FHE_MINING_BGV_FIELD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

// Where multiply-adds round twice the plain loops compute, and where vectors have no size that can
// stand in arrays.
#undef TABANE_BGV_DOUBLES
#if HWY_NATIVE_FMA && HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
#define TABANE_BGV_DOUBLES 1
#else
#define TABANE_BGV_DOUBLES 0
#endif

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#if TABANE_BGV_DOUBLES

using D = hn::CappedTag<double, 8>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VU = hn::Vec<DU>;
inline constexpr std::size_t kLanes = HWY_MIN(HWY_LANES(double), 8);

inline constexpr double kExponent = 0x1p52;    // its last 52 bits count ones
inline constexpr double kRounding = 0x1.8p52;  // what is added to it loses its fraction

// 64-bit words below 2^52 as doubles, and back.
HWY_INLINE V load_words(const std::uint64_t* from) {
  const D d;
  const DU du;
  const V exponent = hn::Set(d, kExponent);
  return hn::Sub(hn::BitCast(d, hn::Or(hn::LoadU(du, from), hn::BitCast(du, exponent))), exponent);
}
HWY_INLINE void store_words(V v, std::uint64_t* to) {
  const D d;
  const DU du;
  const V exponent = hn::Set(d, kExponent);
  hn::StoreU(hn::Xor(hn::BitCast(du, hn::Add(v, exponent)), hn::BitCast(du, exponent)), du, to);
}

// Loads and stores doubles in the memory of words.
HWY_INLINE V load_doubles(const std::uint64_t* from) {
  return hn::BitCast(D(), hn::LoadU(DU(), from));
}
HWY_INLINE void store_doubles(V v, std::uint64_t* to) {
  hn::StoreU(hn::BitCast(DU(), v), DU(), to);
}

// Arithmetic modulo p, with residues in size below a few p.
struct Field {
  V p, inverse, rounding;

  explicit HWY_INLINE Field(std::uint64_t modulus)
      : p(hn::Set(D(), static_cast<double>(modulus))),
        inverse(hn::Set(D(), 1 / static_cast<double>(modulus))),
        rounding(hn::Set(D(), kRounding)) {}

  HWY_INLINE V load(const std::uint64_t* from) const { return load_words(from); }
  HWY_INLINE V set(std::uint64_t x) const { return hn::Set(D(), static_cast<double>(x)); }

  // round(x / p) for |x / p| < 2^51, at most 1 / 2 + 2^-52 |x / p| off.
  HWY_INLINE V quotient(V x) const { return hn::Sub(hn::MulAdd(x, inverse, rounding), rounding); }

  // x modulo p, in size at most (1 / 2 + 2^-52 |x / p|) p. The difference of two integers that are
  // multiples of x's last bit, and below 2^53: exact.
  HWY_INLINE V reduced(V x) const { return hn::NegMulAdd(quotient(x), p, x); }

  // x w modulo p, |x| <= 4 p and |w| <= p / 2: in size at most (1 / 2 + |x| / 8 p) p. high + low is
  // the product, and high leaves an exact remainder as above.
  HWY_INLINE V product(V x, V w) const {
    const V high = hn::Mul(x, w);
    const V low = hn::MulSub(x, w, high);
    return hn::Add(reduced(high), low);
  }

  // From (-p, p) to [0, p).
  HWY_INLINE V positive(V x) const {
    const D d;
    return hn::Add(x, hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), p));
  }
};

#endif
}  // namespace tabane::mine::bgv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_FHE_MINING_BGV_FIELD_INL_H_
