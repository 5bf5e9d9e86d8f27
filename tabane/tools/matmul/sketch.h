// A product condensed to a number for each row, modulo a random prime: what verify.h checks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/matmul/exponents.h"
#include "tabane/tools/matmul/integers.h"

namespace tabane::matmul {

// Numbers modulo a random prime of 60 bits; binary fractions are numbers, too.
class PrimeField {
 public:
  explicit PrimeField(std::uint64_t seed);

  std::uint64_t prime() const { return prime_; }
  std::uint64_t add(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t sum = a + b;
    return sum >= prime_ ? sum - prime_ : sum;
  }
  std::uint64_t subtract(std::uint64_t a, std::uint64_t b) const {
    return a >= b ? a - b : a + prime_ - b;
  }
  std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const;
  std::uint64_t power_of_two(WideExponent exponent) const;
  // Zeros, infinities and NaN count as 0.
  std::uint64_t of(mpfr_srcptr x) const;
  std::uint64_t of(const SignedLimbs& x) const;
  // A uniform number for each index: the weight of column j in a sketch.
  std::uint64_t weight(int j) const;

 private:
  static constexpr int kTable = 1 << 13;  // powers of two from 2^-kTable on
  std::uint64_t seed_, prime_;
  std::vector<std::uint64_t> powers_;
};

// The sum over j of w_j (x_ij - c_ij) for each row i, where x is the exact product before rounding
// and c after it. The weights w_j are random; those of columns of b with infinities or NaN are 0,
// and rows of a with such numbers have no sketch.
class Sketch {
 public:
  // For a block of a product whose first column is `first_column` of all.
  Sketch(const PrimeField& field, int rows, int first_column, int threads);

  const PrimeField& field() const { return field_; }
  std::uint64_t weight(int j) const { return field_.weight(first_column_ + j); }
  // exact: x_ij. One thread at a time may use a thread's number.
  void add(std::size_t thread, int i, std::uint64_t weight, std::uint64_t exact, mpfr_srcptr c) {
    std::uint64_t& sum = sums_[thread][static_cast<std::size_t>(i)];
    sum = field_.add(sum, field_.multiply(weight, field_.subtract(exact, field_.of(c))));
  }
  std::vector<std::uint64_t> rows() const;

 private:
  const PrimeField& field_;
  int first_column_;
  std::vector<std::vector<std::uint64_t>> sums_;  // by thread and row
};

}  // namespace tabane::matmul
