// What multiply() and the ranks share.
#pragma once

#include "tabane/tools/matmul/finish.h"
#include "tabane/tools/matmul/multiply.h"
#include "tabane/tools/matmul/prime_spread.h"

namespace tabane::matmul {

// throw: core::UsageError if the shapes do not match.
Operands operands_of(const Matrix& a, const Matrix& b);
Operands operands_of(const ComplexMatrix& a, const ComplexMatrix& b);

// As multiply(), into matrices of the right shape. spread: null, or for all of its ranks, which
// call this with the same operands; each gets its own rows of the product.
void multiply_operands(const Operands& operands, const Target& target, const Options& options,
                       Cost& cost, const PrimeSpread* spread = nullptr);

}  // namespace tabane::matmul
