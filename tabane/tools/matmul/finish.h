// From exact values to elements of the result.
#pragma once

#include <array>
#include <vector>

#include "tabane/tools/matmul/exact_sum.h"
#include "tabane/tools/matmul/integers.h"
#include "tabane/tools/matmul/operands.h"
#include "tabane/tools/matmul/sketch.h"

namespace tabane::matmul {

struct Target {
  std::array<Matrix*, 2> c{};  // as many as the operands have parts
  mpfr_rnd_t rounding = MPFR_RNDN;
  ExponentRange range = {};
  Sketch* sketch = nullptr;
  int first_row = 0, first_column = 0;  // where the product begins in the matrices
  mpfr_ptr at(int i, int j, int part) const {
    return c[static_cast<std::size_t>(part)]->at(first_row + i, first_column + j);
  }
};

// Which element, and part of it.
struct Place {
  int i, j, part = 0;
};

// One thread's, with memory that stays.
class Finish {
 public:
  Finish(const Operands& operands, const Target& target, std::size_t thread);
  ~Finish();
  Finish(const Finish&) = delete;
  Finish& operator=(const Finish&) = delete;

  // The element is value 2^shift.
  void one(const Place& place, const SignedLimbs& value, WideExponent shift);
  // The element is the sum of values[t] 2^shifts[t].
  void several(const Place& place, std::span<const SignedLimbs> values,
               std::span<const WideExponent> shifts);
  // The element is computed here, by MPFR's exact sum.
  void apart(const Place& place);

 private:
  void take_terms(const Place& place);
  void zero(const Place& place);
  void add_to_sketch(const Place& place, std::uint64_t exact);

  const Operands& operands_;
  const Target& target_;
  std::size_t thread_;
  ExactSum sum_;
  std::vector<__mpfr_struct> x_, y_, values_;
  std::vector<mpfr_ptr> pointers_;
};

}  // namespace tabane::matmul
