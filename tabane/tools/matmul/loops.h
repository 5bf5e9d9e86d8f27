// The product as a triple loop of MPFR's scalar operations: what the published comparison ran, and
// what the method by residues is held against. An element is rounded twice a term.
#pragma once

#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {

// Element by element, as the published comparison.
// throws: core::UsageError if the shapes do not match.
Matrix triple_loop(const Matrix& a, const Matrix& b, mpfr_prec_t bits,
                   mpfr_rnd_t rounding = MPFR_RNDN);

// The same bits, in blocks that stay in cache.
Matrix blocked_loop(const Matrix& a, const Matrix& b, mpfr_prec_t bits,
                    mpfr_rnd_t rounding = MPFR_RNDN);

}  // namespace tabane::matmul
