// The product by residues.
#pragma once

#include "tabane/tools/matmul/finish.h"
#include "tabane/tools/matmul/options.h"
#include "tabane/tools/matmul/plan.h"
#include "tabane/tools/matmul/prime_spread.h"

namespace tabane::matmul {

// Computes the elements of the plan's rows and columns; with a spread, which all its ranks call
// with the same plan and memory, those of the rank's own rows.
// throws: core::UsageError if the memory is too small.
void multiply_by_residues(const Operands& operands, const Plan& plan, const Target& target,
                          const Options& options, Cost& cost, const PrimeSpread* spread);

}  // namespace tabane::matmul
