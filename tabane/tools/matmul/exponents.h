// Exponents beyond those of the caller's numbers: computing takes place in the widest range, and a
// result is brought into the caller's at the end.
#pragma once

#include <mpfr.h>

namespace tabane::matmul {

__extension__ typedef __int128 WideExponent;  // sums of exponents, which may not fit into 64 bits

struct ExponentRange {
  mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();  // of the calling thread
};

// Gives the calling thread the widest range until the end of the scope.
class WidestRange {
 public:
  WidestRange() {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  ~WidestRange() { restore(); }
  WidestRange(const WidestRange&) = delete;
  WidestRange& operator=(const WidestRange&) = delete;

 private:
  void restore() {
    mpfr_set_emin(range_.least);
    mpfr_set_emax(range_.most);
  }
  ExponentRange range_;
};

// x := x 2^shift, brought into `range`. ternary: of the rounding that made x. The calling thread
// has the widest range.
void shift_into_range(mpfr_ptr x, int ternary, WideExponent shift, mpfr_rnd_t rounding,
                      const ExponentRange& range);

}  // namespace tabane::matmul
