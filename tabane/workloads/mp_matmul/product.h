// What multiply() and the ranks share.
#pragma once

#include "tabane/workloads/mp_matmul/finish.h"
#include "tabane/workloads/mp_matmul/multiply.h"

namespace tabane::workloads::mp_matmul {

// throw: core::UsageError if the shapes do not match.
Operands operands_of(const Matrix& a, const Matrix& b);
Operands operands_of(const ComplexMatrix& a, const ComplexMatrix& b);

// As multiply(), into matrices of the right shape.
void multiply_operands(const Operands& operands, const Target& target, const Options& options,
                       Cost& cost);

}  // namespace tabane::workloads::mp_matmul
