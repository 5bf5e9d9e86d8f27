// What a product takes, in nanoseconds of one core; the constants are those of a core with vectors
// of 512 bits. They only choose between ways that give the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tabane/tools/matmul/moduli.h"

namespace tabane::matmul {

struct Extent {
  double rows, columns, terms;
};

// Multiply-adds of the plain algorithm.
inline double multiply_adds(const Extent& extent) {
  return extent.rows * extent.columns * extent.terms;
}

// What one of several ranks does, in shares.
struct RankShare {
  double primes = 1, elements = 1;  // it multiplies modulo; it puts together
};

// By residues: operands into residues, products, reduction, back.
inline double residue_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width,
                         int parts = 1, const RankShare& share = {}) {
  constexpr double kOperation = 0.012, kSmallOperation = 0.02;  // large and small products
  const double primes = primes_needed(static_cast<int>(extent.terms), a_width, b_width);
  const double own_primes = std::ceil(primes * share.primes);
  const double a = extent.rows * extent.terms * parts, b = extent.columns * extent.terms * parts;
  const double c = extent.rows * extent.columns * parts;
  const double digits = a * static_cast<double>(digits_of_width(a_width) + 1) +
                        b * static_cast<double>(digits_of_width(b_width) + 1);
  const double into =
      digits * (0.9 + 2 * own_primes * kSmallOperation) + (a + b) * (8 + own_primes);
  const double products =
      own_primes * ((2 * parts - 1) * (2 * multiply_adds(extent) * kOperation + 500) + c);
  const double back = c * share.elements * (100 + primes * (1.5 + 2 * primes * kSmallOperation));
  const double constants = 5000 + primes * (300 + 8 * primes);
  return into + products + back + constants;
}

// On ranks that have a block of the product each.
inline double blocks_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width, int parts,
                        int grid_rows, int grid_columns) {
  return residue_ns(
      {std::ceil(extent.rows / grid_rows), std::ceil(extent.columns / grid_columns), extent.terms},
      a_width, b_width, parts);
}

// On ranks that have some primes each, and send each other residues of four bytes.
inline double spread_primes_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width,
                               int parts, int ranks) {
  constexpr double kByte = 2;  // packed, sent, and put into memory that is new
  const double primes = primes_needed(static_cast<int>(extent.terms), a_width, b_width);
  const double bytes = 4 * primes * extent.rows * extent.columns * parts / ranks;
  return residue_ns(extent, a_width, b_width, parts, {1.0 / ranks, 1.0 / ranks}) + kByte * bytes;
}

// A product of two integers of so many bits, and its sum with another.
inline double integer_term_ns(double a_bits, double b_bits) {
  const double a = std::ceil(a_bits / 64), b = std::ceil(b_bits / 64);
  // Quadratic up to some 20 limbs, then as Karatsuba's and Toom's methods.
  const double small = std::min(a, b), large = std::max(a, b);
  const double product = small < 24 ? 0.5 * small : 0.5 * 24 * std::pow(small / 24, 0.55);
  return 8 + large * product + (a + b);
}

// By a loop over integers.
inline double integer_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width,
                         int parts = 1) {
  const auto a_bits = static_cast<double>(a_width), b_bits = static_cast<double>(b_width);
  return parts * parts * multiply_adds(extent) * integer_term_ns(a_bits, b_bits) +
         parts * extent.rows * extent.columns * 150 +
         parts * (extent.rows + extent.columns) * extent.terms * 30;
}

// By exact sums of so many elements.
inline double sum_ns(double elements, double terms, double bits, int parts = 1) {
  return elements * (parts * parts * terms * (70 + integer_term_ns(bits, bits)) + 300);
}

// Bytes of the constants of one system of primes.
inline double bytes_of_constants(double primes, double out_digits, double in_digits) {
  return 8 * primes * (out_digits + in_digits);
}

}  // namespace tabane::matmul
