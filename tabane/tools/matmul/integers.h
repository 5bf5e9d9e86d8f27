// Numbers as integers in limbs, and back.
#pragma once

#include <gmp.h>

#include <cstdint>
#include <span>

#include "tabane/tools/matmul/exponents.h"

namespace tabane::matmul {

// Fills `out`, the lowest limb first, with |x| 2^-low, an integer for which one limb less would
// suffice. x: finite.
void to_integer(mpfr_srcptr x, std::int64_t low, std::span<mp_limb_t> out);

// A sign and a magnitude that has no leading zero limbs.
struct SignedLimbs {
  bool negative;
  std::span<const mp_limb_t> magnitude;  // empty: 0
};
// Reads two's complement, in place.
SignedLimbs magnitude_of(std::span<mp_limb_t> twos_complement);

// result := value 2^shift, rounded once. value: not 0. The thread's range is the widest.
void round_to(mpfr_ptr result, const SignedLimbs& value, WideExponent shift, mpfr_rnd_t rounding,
              const ExponentRange& range);

}  // namespace tabane::matmul
