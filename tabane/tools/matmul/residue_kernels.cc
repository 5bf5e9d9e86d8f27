#include <algorithm>
#include <bit>
#include <cstring>

#include "tabane/tools/matmul/residues.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/matmul/residue_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::matmul::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static_assert(kDigitBits == 24 && std::endian::native == std::endian::little);

// The digits whose lowest bits are `skipped` bits, 1 to 8, above bytes[0], bytes[3], bytes[6] ...
// Each is in four bytes, of which the next digit shares one.
#if HWY_TARGET == HWY_SCALAR
void split_one(const unsigned char* bytes, int skipped, double sign, std::size_t digits,
               double* out) {
  for (std::size_t j = 0; j < digits; ++j, bytes += 3) {
    std::uint32_t word;
    std::memcpy(&word, bytes, sizeof word);
    out[j] = sign * static_cast<double>((word >> skipped) & 0xffffff);
  }
}
#else
void split_one(const unsigned char* bytes, int skipped, double sign, std::size_t digits,
               double* out) {
  const hn::CappedTag<double, 4> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  const hn::Repartition<std::uint8_t, decltype(di)> d8;
  constexpr std::uint8_t kBytes[16] = {0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12};
  const std::size_t lanes = hn::Lanes(d);
  const auto spread = hn::LoadU(d8, kBytes);
  const auto mask = hn::Set(du, 0xffffff);
  const auto signs = hn::Set(d, sign);
  for (std::size_t j = 0; j < digits; j += lanes, bytes += 3 * lanes) {
    const auto words = hn::BitCast(du, hn::TableLookupBytes(hn::LoadU(d8, bytes), spread));
    const auto digit = hn::And(hn::ShiftRightSame(words, skipped), mask);
    hn::StoreU(hn::Mul(hn::PromoteTo(d, hn::BitCast(di, digit)), signs), d, out + j);
  }
}
#endif

// `place`: where the limbs go, between zeros.
void split_all(std::span<const Significand> numbers, std::size_t limbs, std::size_t stride,
               unsigned char* place, double* out) {
  for (const Significand& number : numbers) {
    if (number.limbs == nullptr) {
      std::fill_n(out, stride, 0.0);
    } else {
      std::memcpy(place, number.limbs, limbs * sizeof(mp_limb_t));
      const int bits = static_cast<int>(number.shift & 7);
      split_one(place - (number.shift >> 3) - 1, 8 - bits, number.negative ? -1 : 1, stride, out);
    }
    out += stride;
  }
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

// As add_digits(), of numbers from i on that fill a vector.
template <class D>
HWY_INLINE void add_some(D d, const WideDigits& numbers, std::size_t i, std::size_t limbs,
                         mp_limb_t* out) {
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::int64_t words[hn::MaxLanes(d)];
  std::size_t limb = 0;
  const auto store = [&](hn::Vec<decltype(di)> word) {
    hn::Store(word, di, words);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      out[(i + lane) * limbs + limb] = static_cast<mp_limb_t>(words[lane]);
    }
    ++limb;
  };
  const auto quotient = hn::Round(hn::LoadU(d, numbers.quotients + i));
  const auto mask = hn::Set(di, (std::int64_t{1} << numbers.bits) - 1);
  auto carry = hn::Zero(di), word = hn::Zero(di);
  int at = 0;  // bits of the word that are known
  for (std::size_t j = 0; j < numbers.whole.size(); ++j) {
    const auto digit = hn::LoadU(d, numbers.digits + j * numbers.count + i);
    const auto reduced = hn::NegMulAdd(quotient, hn::Set(d, numbers.whole[j]), digit);
    const auto sum = hn::Add(hn::ConvertTo(di, reduced), carry);
    const auto low = hn::And(sum, mask);
    carry = hn::ShiftRightSame(sum, numbers.bits);
    word = hn::Or(word, hn::ShiftLeftSame(low, at));
    at += numbers.bits;
    if (at < GMP_NUMB_BITS) continue;
    store(word);
    at -= GMP_NUMB_BITS;
    word = at == 0 ? hn::Zero(di) : hn::ShiftRightSame(low, numbers.bits - at);
  }
  store(hn::Or(word, hn::ShiftLeftSame(carry, at)));
  carry = at == 0 ? carry : hn::ShiftRightSame(carry, GMP_NUMB_BITS - at);
  const auto sign = hn::ShiftRight<63>(carry);
  if (limb < limbs) store(at == 0 ? sign : carry);
  while (limb < limbs) store(sign);
}

void add_all(const WideDigits& numbers, std::size_t limbs, mp_limb_t* out) {
  for_elements(numbers.count, [&](auto d, std::size_t i) { add_some(d, numbers, i, limbs, out); });
}

// x - p round(x / p). The product is an integer of at most 2^53, so it is exact without an FMA,
// too.
template <class D, class V>
HWY_INLINE V residue(D d, V x, const Modulus& modulus) {
  const auto quotient = hn::Round(hn::Mul(x, hn::Set(d, modulus.inverse)));
  return hn::NegMulAdd(quotient, hn::Set(d, modulus.p), x);
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

HWY_EXPORT(split_all);
HWY_EXPORT(add_all);
HWY_EXPORT(reduce_doubles);
HWY_EXPORT(reduce_integers);
HWY_EXPORT(reduce_three);
HWY_EXPORT(widen_integers);

namespace {
constexpr std::size_t kMostLanes = 4, kMostRead = 16;  // digits and bytes at a time
}

DigitSplitter::DigitSplitter(std::size_t limbs, std::size_t digits)
    : limbs_(limbs), stride_((digits + kMostLanes - 1) / kMostLanes * kMostLanes) {
  // The limbs may be anywhere: all their bits below the digits, or all above the lowest ones.
  const std::size_t own = limbs * sizeof(mp_limb_t), around = 3 * stride_ + own + kMostRead;
  front_ = around;
  bytes_.assign(front_ + own + around, 0);
}

void DigitSplitter::split(std::span<const Significand> numbers, double* out) {
  TABANE_DISPATCH(split_all)(numbers, limbs_, stride_, bytes_.data() + front_, out);
}

void add_digits(const WideDigits& numbers, std::size_t limbs, mp_limb_t* out) {
  TABANE_DISPATCH(add_all)(numbers, limbs, out);
}

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
