// An element as MPFR's exact sum of exact products, whatever the exponents.
#pragma once

#include <span>
#include <vector>

#include "tabane/tools/matmul/exponents.h"

namespace tabane::matmul {

// One after the other, with memory that stays.
class ExactSum {
 public:
  ExactSum() = default;
  ~ExactSum();
  ExactSum(const ExactSum&) = delete;
  ExactSum& operator=(const ExactSum&) = delete;

  // result := the sum of x[t] y[t], rounded once. x and y: as many. The thread's exponent range is
  // the widest; `range` is that of the result.
  // throws: core::Error if the exponents of x or y differ by 2^60 or more.
  void compute(mpfr_ptr result, std::span<const __mpfr_struct> x, std::span<const __mpfr_struct> y,
               mpfr_rnd_t rounding, const ExponentRange& range);

 private:
  void grow(std::size_t terms);

  std::vector<__mpfr_struct> products_;
  std::vector<mpfr_ptr> pointers_;
  std::vector<__mpfr_struct> x_, y_;
};

}  // namespace tabane::matmul
