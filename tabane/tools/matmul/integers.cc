#include "tabane/tools/matmul/integers.h"

#include <algorithm>

namespace tabane::matmul {

void to_integer(mpfr_srcptr x, std::int64_t low, std::span<mp_limb_t> out) {
  std::fill(out.begin(), out.end(), 0);
  if (mpfr_zero_p(x)) return;
  const auto* digits = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x));
  std::int64_t count = (mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  // Bits to the left; fewer than none cut off zeros.
  std::int64_t shift = mpfr_get_exp(x) - GMP_NUMB_BITS * count - low;
  if (shift < 0) {
    const std::int64_t whole = -shift / GMP_NUMB_BITS;
    digits += whole;
    count -= whole;
    shift += whole * GMP_NUMB_BITS;
    if (shift == 0) {
      std::copy_n(digits, count, out.begin());
    } else {
      mpn_rshift(out.data(), digits, count, static_cast<unsigned>(-shift));
    }
    return;
  }
  mp_limb_t* const to = out.data() + shift / GMP_NUMB_BITS;
  const auto bits = static_cast<unsigned>(shift % GMP_NUMB_BITS);
  if (bits == 0) {
    std::copy_n(digits, count, to);
    return;
  }
  const mp_limb_t over = mpn_lshift(to, digits, count, bits);
  if (over != 0) to[count] = over;
}

SignedLimbs magnitude_of(std::span<mp_limb_t> twos_complement) {
  mp_limb_t* const limbs = twos_complement.data();
  std::size_t size = twos_complement.size();
  const bool negative = limbs[size - 1] >> (GMP_NUMB_BITS - 1) != 0;
  if (negative) mpn_neg(limbs, limbs, static_cast<mp_size_t>(size));
  while (size > 0 && limbs[size - 1] == 0) --size;
  return {negative, {limbs, size}};
}

void round_to(mpfr_ptr result, const SignedLimbs& value, WideExponent shift, mpfr_rnd_t rounding,
              const ExponentRange& range) {
  mpz_t whole;
  const auto size = static_cast<mp_size_t>(value.magnitude.size());
  mpz_roinit_n(whole, value.magnitude.data(), value.negative ? -size : size);
  const int ternary = mpfr_set_z_2exp(result, whole, 0, rounding);
  shift_into_range(result, ternary, shift, rounding, range);
}

}  // namespace tabane::matmul
