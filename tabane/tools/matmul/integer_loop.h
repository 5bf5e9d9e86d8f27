// Sums of products of integers, one element after the other: fastest where matrices are small.
#pragma once

#include <gmp.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/matmul/plan.h"

namespace tabane::matmul {

class IntegerLoop {
 public:
  // Takes the numbers of the plan's rows and columns, of its only piece.
  IntegerLoop(const Operands& operands, const Plan& plan);

  // A part (Operands) of the element in the plan's row r and column c, in two's complement, until
  // `into`, which grows, is changed.
  std::span<mp_limb_t> compute(std::size_t r, std::size_t c, int part,
                               std::vector<mp_limb_t>& into) const;

 private:
  struct Lines {
    std::size_t limbs = 1, terms = 0;
    std::vector<mp_limb_t> magnitudes;  // by part, line and term
    std::vector<signed char> signs;
  };
  void add_part(const mp_limb_t* x, const signed char* x_signs, const mp_limb_t* y,
                const signed char* y_signs, bool negate, std::span<mp_limb_t> sum,
                std::span<mp_limb_t> product) const;
  Lines a_, b_;
  std::size_t rows_, columns_;
  int parts_;
};

}  // namespace tabane::matmul
