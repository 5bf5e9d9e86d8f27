// What is multiplied: real matrices, or the real and imaginary parts of complex ones.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {

// Some rows and columns of a matrix that stays.
class View {
 public:
  View() = default;
  View(const Matrix& matrix)  // NOLINT: all of it
      : View(matrix, {0, matrix.rows()}, {0, matrix.columns()}) {}
  View(const Matrix& matrix, Range rows, Range columns)
      : matrix_(&matrix), rows_(rows), columns_(columns) {}

  int rows() const { return rows_.size(); }
  int columns() const { return columns_.size(); }
  mpfr_prec_t bits() const { return matrix_->bits(); }
  std::size_t limbs() const { return matrix_->limbs_of_element(); }
  mpfr_srcptr at(int i, int j) const { return matrix_->at(rows_.first + i, columns_.first + j); }
  // Of these rows and columns.
  View part(Range rows, Range columns) const {
    return {*matrix_,
            {rows_.first + rows.first, rows_.first + rows.end},
            {columns_.first + columns.first, columns_.first + columns.end}};
  }

 private:
  const Matrix* matrix_ = nullptr;
  Range rows_, columns_;
};

struct Operands {
  std::array<View, 2> a{}, b{};
  int parts = 1;  // 1: real, 2: complex

  int rows() const { return a[0].rows(); }
  int columns() const { return b[0].columns(); }
  int terms() const { return a[0].columns(); }
  // The widest significand of a, of b.
  mpfr_prec_t bits_of_a() const;
  mpfr_prec_t bits_of_b() const;

  // One part of an element of the product is the sum of x[t] y[t]: part 0 of a complex one has the
  // terms re re and -im im, part 1 re im and im re. What is appended shares its digits.
  void append_row(int i, int part, std::vector<__mpfr_struct>& x) const;
  void append_column(int j, int part, std::vector<__mpfr_struct>& y) const;
};

// What a row of a, or a column of b, has in common: each of its elements is an integer times
// 2^low, less than 2^(high - low) in magnitude.
struct Line {
  std::int64_t low = 0, high = 0;
  bool finite = true;
  std::int64_t width() const { return high - low; }
};

// Which terms of the sums, and by which powers of two a's elements are multiplied and b's divided,
// term by term: it does not change the products, and may make lines narrower.
struct Terms {
  std::vector<int> index;
  std::vector<std::int64_t> shift;
};
Terms all_terms(int count);

// The lowest set bit of a number that is neither zero nor infinite nor NaN, as an exponent.
std::int64_t lowest_bit(mpfr_srcptr x);

// cost: one look at each element.
std::vector<Line> lines_of_a(const Operands& operands, const Terms& terms);
std::vector<Line> lines_of_b(const Operands& operands, const Terms& terms);

// Whether an exact zero, the sum of these products, is -0.
bool zero_is_negative(const std::vector<__mpfr_struct>& x, const std::vector<__mpfr_struct>& y,
                      mpfr_rnd_t rounding);

}  // namespace tabane::matmul
