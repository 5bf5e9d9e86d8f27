#include "tabane/tools/matmul/exponents.h"

#include <algorithm>

namespace tabane::matmul {

void shift_into_range(mpfr_ptr x, int ternary, WideExponent shift, mpfr_rnd_t rounding,
                      const ExponentRange& range) {
  if (!mpfr_regular_p(x)) return;
  // Two below the least is far enough to round to 0 or the least number, and not halfway.
  const WideExponent exponent =
      std::clamp(shift + x->_mpfr_exp, static_cast<WideExponent>(range.least) - 2,
                 static_cast<WideExponent>(range.most) + 1);
  x->_mpfr_exp = static_cast<mpfr_exp_t>(exponent);
  if (range.least <= exponent && exponent <= range.most) return;
  mpfr_set_emin(range.least);
  mpfr_set_emax(range.most);
  mpfr_check_range(x, ternary, rounding);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
}

}  // namespace tabane::matmul
