// Matrices of multiple-precision numbers.
#pragma once

#include <mpfr.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tabane::matmul {

// Which rows and columns of a matrix: [first, end).
struct IndexRange {
  int first = 0, end = 0;
  int size() const { return end - first; }
  bool operator==(const IndexRange&) const = default;
};

// rows x columns numbers of one precision, row by row, all in two pieces of memory. MPFR's
// functions read and write the elements; mpfr_set_prec(), mpfr_swap() and mpfr_clear() must not be
// called on them.
class Matrix {
 public:
  Matrix() = default;
  // All elements are +0. throws: core::UsageError if a size or the precision is out of its limits
  // below.
  Matrix(int rows, int columns, mpfr_prec_t bits);
  Matrix(const Matrix& other);
  Matrix(Matrix&& other) = default;
  Matrix& operator=(const Matrix& other);
  Matrix& operator=(Matrix&& other) = default;

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  mpfr_prec_t bits() const { return bits_; }
  std::size_t size() const { return heads_.size(); }
  std::size_t limbs_of_element() const { return limbs_each_; }

  mpfr_ptr at(int i, int j) { return &heads_[index(i, j)]; }
  mpfr_srcptr at(int i, int j) const { return &heads_[index(i, j)]; }

  // Bit by bit; NaN equals NaN, and -0 is not +0.
  bool operator==(const Matrix& other) const;

  Matrix part(IndexRange rows, IndexRange columns) const;
  // A part as words for a message, and back.
  std::vector<std::uint64_t> pack(IndexRange rows, IndexRange columns) const;
  void unpack(IndexRange rows, IndexRange columns, std::span<const std::uint64_t> words);

 private:
  std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(columns_) +
           static_cast<std::size_t>(j);
  }

  int rows_ = 0, columns_ = 0;
  mpfr_prec_t bits_ = 53;
  std::size_t limbs_each_ = 1;
  std::vector<mp_limb_t> limbs_;
  std::vector<__mpfr_struct> heads_;
};

// Bit by bit, as operator==.
bool same(mpfr_srcptr x, mpfr_srcptr y);

struct ComplexMatrix {
  Matrix re, im;  // of one shape
};

// How large matrices and precisions may be.
inline constexpr int kMostRows = 100000;  // and columns
inline constexpr mpfr_prec_t kLeastBits = 2, kMostBits = 1000000;
inline constexpr int kMostThreads = 64;

// throws: core::UsageError naming the limits.
void require_shape(int rows, int columns);
void require_bits(mpfr_prec_t bits);
// throws: core::UsageError if a has not as many columns as b has rows.
void require_product(const Matrix& a, const Matrix& b);

// Returns sqrt(factor) times uniform numbers of [0, 1) with as many bits as the elements; the
// published comparison has factors 2 and 3. Those of one seed are the same everywhere.
Matrix random_matrix(int rows, int columns, mpfr_prec_t bits, unsigned factor,
                     std::uint64_t seed = 1);

// Reads a text file of decimal numbers, one row a line, such as 1.5, -2e-300, inf or nan, separated
// by blanks, each rounded to the nearest of `bits` bits. Blank lines and what follows a # are
// passed over. throws: core::UsageError naming file, line and column of what is no number, or of a
// line with more or fewer numbers than the first one; core::SystemError.
Matrix read_text(const std::filesystem::path& path, mpfr_prec_t bits);

// Returns such a text, with as many digits as give the same numbers back.
std::string text_of(const Matrix& matrix);

}  // namespace tabane::matmul
