// Exact products of matrices of multiple-precision numbers, each element rounded once.
#pragma once

#include "tabane/tools/matmul/matrix.h"
#include "tabane/tools/matmul/options.h"

namespace tabane::matmul {

// Returns a b with elements of `bits` bits. Each is the exact value of its sum of products, rounded
// once. Infinities, NaN and the signs of zeros are those of mpfr_mul() and mpfr_sum(): an exact
// zero is -0 if all its products are -0, or if they are not all +0 and rounding is RNDD, else +0.
// The numbers may have more or fewer bits than the result. The exponent range is that of the
// calling thread; MPFR's flags are not set.
// throws: core::UsageError if the shapes do not match, the precision or an option is out of its
// limits, or the memory is too small, with what would suffice.
// cost: about (2 bits + log2 k) / 22 products of doubles of the same shape, and as much again where
// matrices are small; see model.h. Elements of a row of a, or of a column of b, whose exponents
// differ by d bits more than those of random numbers cost d bits of width.
Matrix multiply(const Matrix& a, const Matrix& b, mpfr_prec_t bits, const Options& options = {},
                Cost* cost = nullptr);

// The same for complex numbers, by three products of real ones in place of four. Real and imaginary
// parts are both exact and rounded once.
ComplexMatrix multiply(const ComplexMatrix& a, const ComplexMatrix& b, mpfr_prec_t bits,
                       const Options& options = {}, Cost* cost = nullptr);

}  // namespace tabane::matmul
