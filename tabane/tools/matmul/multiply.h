// Exact products of matrices of multiple-precision numbers, each element rounded once.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <tuple>

#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {

// How elements are computed. All give the same bits.
enum class Method {
  automatic,  // as a model of their costs says
  residues,   // products of doubles modulo primes
  integers,   // a loop over integers: fastest where matrices are small
  sums,       // MPFR's exact sum of exact products, element by element: whatever the exponents
};

struct ProductOptions {
  mpfr_rnd_t rounding = MPFR_RNDN;  // RNDN, RNDZ, RNDU or RNDD
  int threads = 1;
  double memory = 0;  // the most bytes to take besides the matrices; 0: half of what is usable
  Method method = Method::automatic;
};

// What a product took.
struct Cost {
  Method method = Method::automatic;  // of most elements
  int primes = 0, groups = 0;         // groups of terms, by exponent; primes of all groups
  std::int64_t widest = 0;            // bits of the widest integer that an element became
  double outliers = 0;                // elements computed one by one, for their exponents
  double bytes = 0;                   // of memory, besides the matrices
  double product_operations = 0;      // in products of doubles
  // Seconds of all threads together: numbers to residues, products, and back.
  double residue_seconds = 0, product_seconds = 0, rebuild_seconds = 0;

  auto fields() {
    return std::tie(method, primes, groups, widest, outliers, bytes, product_operations,
                    residue_seconds, product_seconds, rebuild_seconds);
  }
};

// Returns a b with elements of `bits` bits. Each is the exact value of its sum of products, rounded
// once. Infinities, NaN and the signs of zeros are those of mpfr_mul() and mpfr_sum(): an exact
// zero is -0 if all its products are -0, or if they are not all +0 and rounding is RNDD, else +0.
// The numbers may have more or fewer bits than the result. The exponent range is that of the
// calling thread; MPFR's flags are not set.
// throws: core::UsageError if the shapes do not match, the precision or an option is out of its
// limits, or the memory is too small, with what would suffice.
// cost: about (2 bits + log2 k) / 22 products of doubles of the same shape, and as much again where
// matrices are small; see plan.h. Elements of a row of a, or of a column of b, whose exponents
// differ by d bits more than those of random numbers cost d bits of width.
Matrix multiply(const Matrix& a, const Matrix& b, mpfr_prec_t bits,
                const ProductOptions& options = {}, Cost* cost = nullptr);

// The same for complex numbers, by three products of real ones in place of four. Real and imaginary
// parts are both exact and rounded once.
ComplexMatrix multiply(const ComplexMatrix& a, const ComplexMatrix& b, mpfr_prec_t bits,
                       const ProductOptions& options = {}, Cost* cost = nullptr);

// Multiplies by a triple loop of MPFR's scalar operations, as the published comparison did: what
// the method by residues is held against. An element is rounded twice a term. throws:
// core::UsageError if the shapes do not match.
Matrix triple_loop(const Matrix& a, const Matrix& b, mpfr_prec_t bits,
                   mpfr_rnd_t rounding = MPFR_RNDN);

// What multiply() and the ranks share. throw: core::UsageError if the shapes do not match.
struct Operands;
struct Target;
class PrimeSpread;
Operands operands_of(const Matrix& a, const Matrix& b);
Operands operands_of(const ComplexMatrix& a, const ComplexMatrix& b);

// As multiply(), into matrices of the right shape. spread: null, or for all of its ranks, which
// call this with the same operands; each gets its own rows of the product.
void multiply_operands(const Operands& operands, const Target& target,
                       const ProductOptions& options, Cost& cost,
                       const PrimeSpread* spread = nullptr);

}  // namespace tabane::matmul
