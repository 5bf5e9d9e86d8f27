// The elements of a product: written from exact values, condensed to a sketch, and verified by it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/solver/solution.h"
#include "tabane/tools/matmul/operands.h"

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

// A product condensed to a number for each row, modulo a random prime, which verify() checks: the
// sum over j of w_j (x_ij - c_ij) for each row i, where x is the exact product before rounding and
// c after it. The weights w_j are random; those of columns of b with infinities or NaN are 0, and
// rows of a with such numbers have no sketch.
class Sketch {
 public:
  // For a block of a product whose first column is `first_column` of all.
  Sketch(const PrimeField& field, int rows, int first_column, int threads);

  const PrimeField& field() const { return field_; }
  std::uint64_t weight(int j) const { return field_.weight(first_column_ + j); }
  // exact: x_ij. One thread at a time may use a thread's number.
  void add(std::size_t thread, int i, std::uint64_t weight, std::uint64_t exact, mpfr_srcptr c) {
    std::uint64_t& sum = sums_[thread][i];
    sum = field_.add(sum, field_.multiply(weight, field_.subtract(exact, field_.of(c))));
  }
  std::vector<std::uint64_t> rows() const;

 private:
  const PrimeField& field_;
  int first_column_;
  std::vector<std::vector<std::uint64_t>> sums_;  // by thread and row
};

// Elements as MPFR's exact sums of exact products, whatever the exponents. Keeps its memory from
// one to the next.
class ExactSum {
 public:
  ExactSum() = default;
  ~ExactSum();
  ExactSum(const ExactSum&) = delete;
  ExactSum& operator=(const ExactSum&) = delete;

  // result := the sum of x[t] y[t], rounded once. x and y: as many. The thread's exponent range is
  // the widest; `range` is that of the result.
  // throws: core::Error if the exponents of x or y differ by 2^60 or more.
  void compute(mpfr_ptr result, std::span<const __mpfr_struct> x, std::span<const __mpfr_struct> y,
               mpfr_rnd_t rounding, const ExponentRange& range);

 private:
  void grow(std::size_t terms);

  std::vector<__mpfr_struct> products_;
  std::vector<mpfr_ptr> pointers_;
  std::vector<__mpfr_struct> x_, y_;
};

// Where the elements of a product go.
struct Target {
  std::array<Matrix*, 2> c{};  // as many as the operands have parts
  mpfr_rnd_t rounding = MPFR_RNDN;
  ExponentRange range = {};
  Sketch* sketch = nullptr;
  int first_row = 0, first_column = 0;  // where the product begins in the matrices
  mpfr_ptr at(int i, int j, int part) const { return c[part]->at(first_row + i, first_column + j); }
};

// Which element, and which part of it.
struct ElementIndex {
  int i, j, part = 0;
};

// Writes elements from their exact values. Each thread has one, which keeps its memory.
class ElementWriter {
 public:
  ElementWriter(const Operands& operands, const Target& target, std::size_t thread);
  ~ElementWriter();
  ElementWriter(const ElementWriter&) = delete;
  ElementWriter& operator=(const ElementWriter&) = delete;

  // The element is value 2^shift.
  void write(const ElementIndex& at, const SignedLimbs& value, WideExponent shift);
  // The element is the sum of values[t] 2^shifts[t].
  void write_sum(const ElementIndex& at, std::span<const SignedLimbs> values,
                 std::span<const WideExponent> shifts);
  // Computes the element, too, by MPFR's exact sum.
  void write_by_mpfr(const ElementIndex& at);

 private:
  void take_terms(const ElementIndex& at);
  void write_zero(const ElementIndex& at);
  void add_to_sketch(const ElementIndex& at, std::uint64_t exact);

  const Operands& operands_;
  const Target& target_;
  std::size_t thread_;
  ExactSum sum_;
  std::vector<__mpfr_struct> x_, y_, values_;
  std::vector<mpfr_ptr> pointers_;
};

// Verifies that c is the product of a and b, each element rounded once: returns how many rows of c,
// and how many of some elements drawn at random, are wrong; the tolerance is 0. sketch: the rows'
// sums of w_j (x_ij - c_ij) (Sketch), which the product has collected while it rounded the exact
// values x_ij.
//
// Why this suffices. Let p be the random prime of 60 bits, and w the random weights below it. For
// each row, all modulo p, it is checked that
//   sum_j w_j c_ij + sketch_i  =  sum_k a_ik (sum_j b_kj w_j),
// with c as it is now, after it was collected from all threads and ranks, and a and b as they were
// given. Binary fractions are numbers modulo p, so nothing is rounded here. The left side is
// sum_j w_j y_ij, where y_ij are the values that were rounded to the c_ij of now. If some y_ij is
// not the exact x_ij, then
// - y_ij - x_ij, scaled to an integer of at most N bits, is a multiple of p for at most N / 59 of
//   the primes that may be drawn. Each is drawn with a probability of the gap before it over 2^59,
//   and no gap is above 2000 there: together less than N / 2^53;
// - otherwise sum_j w_j (y_ij - x_ij) is a linear function of w_j that is not 0 modulo p, and takes
//   the value 0 for at most two of the 2^64 values from which w_j is reduced, in p of them: a
//   probability of less than 2^-58.
// So a wrong value, or an element that was changed after it was rounded, passes with a probability
// below (N + 1) / 2^53. What remains is the rounding of the right value itself, which is MPFR's:
// elements drawn at random are computed again by MPFR's exact sum of products, and compared bit by
// bit. Rows of a and columns of b with infinities or NaN are computed by that sum from the start,
// and take no part in the sketch.
//
// cost: about 50 ns a number of a, b and c, and k products of MPFR for each element drawn.
solver::Check verify(const Operands& operands, const Target& target, const PrimeField& field,
                     std::span<const std::uint64_t> sketch);

}  // namespace tabane::matmul
