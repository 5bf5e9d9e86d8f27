// What is multiplied: real or complex matrices, and their numbers as integers.
#pragma once

#include <gmp.h>
#include <mpfr.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {

// Computing takes place in the widest range of exponents, and a result is brought into the caller's
// range at the end.

__extension__ typedef __int128 WideExponent;  // sums of exponents, which may not fit into 64 bits

struct ExponentRange {
  mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();  // of the calling thread
};

// Gives the calling thread the widest range until the end of the scope.
class WidestRange {
 public:
  WidestRange() {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  ~WidestRange() {
    mpfr_set_emin(range_.least);
    mpfr_set_emax(range_.most);
  }
  WidestRange(const WidestRange&) = delete;
  WidestRange& operator=(const WidestRange&) = delete;

 private:
  ExponentRange range_;
};

// Calls task(thread, i) for all i below `tasks`, each on one of `threads` threads, of which the
// caller is thread 0. All have the widest range. throws: what a task threw first.
void run_tasks(int threads, std::size_t tasks,
               const std::function<void(std::size_t thread, std::size_t task)>& task);

// x := x 2^shift, brought into `range`. ternary: of the rounding that made x. The calling thread
// has the widest range.
void shift_into_range(mpfr_ptr x, int ternary, WideExponent shift, mpfr_rnd_t rounding,
                      const ExponentRange& range);

// Fills `out`, the lowest limb first, with |x| 2^-low, an integer for which one limb less would
// suffice. x: finite.
void to_integer(mpfr_srcptr x, std::int64_t low, std::span<mp_limb_t> out);

// A sign and a magnitude that has no leading zero limbs.
struct SignedLimbs {
  bool negative;
  std::span<const mp_limb_t> magnitude;  // empty: 0
};
// Makes two's complement a sign and a magnitude, in place.
SignedLimbs magnitude_of(std::span<mp_limb_t> twos_complement);

// result := value 2^shift, rounded once. value: not 0. The thread's range is the widest.
void round_to(mpfr_ptr result, const SignedLimbs& value, WideExponent shift, mpfr_rnd_t rounding,
              const ExponentRange& range);

// Some rows and columns of a matrix, which must live as long.
class View {
 public:
  View() = default;
  View(const Matrix& matrix)  // NOLINT: all of it
      : View(matrix, {0, matrix.rows()}, {0, matrix.columns()}) {}
  View(const Matrix& matrix, IndexRange rows, IndexRange columns)
      : matrix_(&matrix), rows_(rows), columns_(columns) {}

  int rows() const { return rows_.size(); }
  int columns() const { return columns_.size(); }
  mpfr_prec_t bits() const { return matrix_->bits(); }
  std::size_t limbs() const { return matrix_->limbs_of_element(); }
  mpfr_srcptr at(int i, int j) const { return matrix_->at(rows_.first + i, columns_.first + j); }
  // Of these rows and columns.
  View part(IndexRange rows, IndexRange columns) const {
    return {*matrix_,
            {rows_.first + rows.first, rows_.first + rows.end},
            {columns_.first + columns.first, columns_.first + columns.end}};
  }

 private:
  const Matrix* matrix_ = nullptr;
  IndexRange rows_, columns_;
};

// The operands, of which the rows of a and the columns of b are called lines here.
enum class Factor { a, b };

// Real matrices, or the real and imaginary parts of complex ones.
struct Operands {
  std::array<View, 2> a{}, b{};
  int parts = 1;  // 1: real, 2: complex

  int rows() const { return a[0].rows(); }
  int columns() const { return b[0].columns(); }
  int terms() const { return a[0].columns(); }
  int lines(Factor side) const { return side == Factor::a ? rows() : columns(); }
  mpfr_srcptr at(Factor side, int part, int line, int term) const {
    return side == Factor::a ? a[part].at(line, term) : b[part].at(term, line);
  }
  // Calls f(line, t, x) for the numbers x of a side in terms[t], in their order in memory.
  template <class F>
  void for_each(Factor side, const std::vector<int>& terms, const F& f) const {
    const auto count = static_cast<int>(terms.size());
    const bool by_line = side == Factor::a;
    for (int part = 0; part < parts; ++part) {
      for (int i = 0; i < (by_line ? lines(side) : count); ++i) {
        for (int j = 0; j < (by_line ? count : lines(side)); ++j) {
          const int line = by_line ? i : j, t = by_line ? j : i;
          f(line, t, at(side, part, line, terms[t]));
        }
      }
    }
  }
  // The widest significand of a or b.
  mpfr_prec_t bits_of(const std::array<View, 2>& side) const {
    return std::max(side[0].bits(), side[parts - 1].bits());
  }

  // One part of an element of the product is the sum of x[t] y[t]: part 0 of a complex one has the
  // terms re re and -im im, part 1 re im and im re. What is appended shares its digits.
  void append_row(int i, int part, std::vector<__mpfr_struct>& x) const;
  void append_column(int j, int part, std::vector<__mpfr_struct>& y) const;
};

// The exponents of a row of a, or of a column of b: each of its elements is an integer times 2^low,
// less than 2^(high - low) in magnitude.
struct ExponentSpan {
  std::int64_t low = 0, high = 0;
  bool finite = true;
  std::int64_t width() const { return high - low; }
};

// Some terms of the sums, and the powers of two by which a's elements are multiplied and b's
// divided, term by term: it does not change the products, and may make spans narrower.
struct ShiftedTerms {
  std::vector<int> index;
  std::vector<std::int64_t> shift;
};
ShiftedTerms all_terms(int count);

// Returns the spans by line. cost: one look at each element.
std::vector<ExponentSpan> spans_of(Factor side, const Operands& operands,
                                   const ShiftedTerms& terms);

// Returns whether an exact zero, the sum of these products, is -0.
bool zero_is_negative(const std::vector<__mpfr_struct>& x, const std::vector<__mpfr_struct>& y,
                      mpfr_rnd_t rounding);

}  // namespace tabane::matmul
