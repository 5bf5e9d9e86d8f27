// The product by residues.
#pragma once

#include "tabane/workloads/mp_matmul/finish.h"
#include "tabane/workloads/mp_matmul/options.h"
#include "tabane/workloads/mp_matmul/plan.h"

namespace tabane::workloads::mp_matmul {

// Computes the elements of the plan's rows and columns.
// throws: core::UsageError if the memory is too small.
void multiply_by_residues(const Operands& operands, const Plan& plan, const Target& target,
                          const Options& options, Cost& cost);

}  // namespace tabane::workloads::mp_matmul
