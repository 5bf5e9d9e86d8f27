// How a product is computed, and what it took.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <tuple>

namespace tabane::matmul {

// How elements are computed. All give the same bits.
enum class Method {
  automatic,  // as a model of their costs says
  residues,   // products of doubles modulo primes
  integers,   // a loop over integers: fastest where matrices are small
  sums,       // MPFR's exact sum of exact products, element by element: whatever the exponents
};

class Workspace;

struct Options {
  mpfr_rnd_t rounding = MPFR_RNDN;  // RNDN, RNDZ, RNDU or RNDD
  int threads = 1;
  double memory = 0;  // the most bytes to take beside the matrices; 0: half of what is usable
  Method method = Method::automatic;
  Workspace* workspace = nullptr;  // keeps the memory for the next product; null: given back
};

// What a product took.
struct Cost {
  Method method = Method::automatic;  // of most elements
  int primes = 0, groups = 0;         // groups of terms, by exponent; primes of all groups
  std::int64_t widest = 0;            // bits of the widest integer that an element became
  double apart = 0;                   // elements computed one by one, for their exponents
  double bytes = 0;                   // of memory, beside the matrices
  double product_operations = 0;      // in products of doubles
  // Seconds of all threads together: numbers to residues, products, and back.
  double residue_seconds = 0, product_seconds = 0, rebuild_seconds = 0, other_seconds = 0;

  auto fields() {
    return std::tie(method, primes, groups, widest, apart, bytes, product_operations,
                    residue_seconds, product_seconds, rebuild_seconds, other_seconds);
  }
};

}  // namespace tabane::matmul
