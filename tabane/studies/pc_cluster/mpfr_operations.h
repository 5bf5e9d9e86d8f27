// Multiple-precision operations of MPFR, as the cluster report times them: on x = sqrt(3) - 1 and
// y = sqrt(5), both with all their bits.
#pragma once

#include <cstdint>
#include <vector>

#include "tabane/core/pinned_pool.h"

namespace tabane::lab {

struct MpfrOperation {
  const char* name;   // "multiply"
  const char* title;  // "x y"
};
const std::vector<MpfrOperation>& mpfr_operations();

// Returns the seconds of one operation, while so many threads of the pool each do them at the same
// time, over the threads. operation: index into mpfr_operations(); bits: of operands and result,
// from MPFR_PREC_MIN. cost: at least twice `seconds`, and some operations.
double mpfr_seconds(core::PinnedPool& pool, std::size_t threads, std::size_t operation, long bits,
                    double seconds);

}  // namespace tabane::lab
