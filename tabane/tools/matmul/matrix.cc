#include "tabane/tools/matmul/matrix.h"

#include "tabane/core/error.h"
#include "tabane/tools/matmul/problem.h"

namespace tabane::matmul {

static_assert(sizeof(mp_limb_t) == sizeof(std::uint64_t) && GMP_NAIL_BITS == 0);

Matrix::Matrix(int rows, int columns, mpfr_prec_t bits)
    : rows_(rows), columns_(columns), bits_(bits) {
  require_shape(rows, columns);
  require_bits(bits);
  limbs_each_ = (static_cast<std::size_t>(bits) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  limbs_.resize(count * limbs_each_);
  heads_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    mpfr_custom_init_set(&heads_[i], MPFR_ZERO_KIND, 0, bits, &limbs_[i * limbs_each_]);
  }
}

Matrix::Matrix(const Matrix& other)
    : rows_(other.rows_),
      columns_(other.columns_),
      bits_(other.bits_),
      limbs_each_(other.limbs_each_),
      limbs_(other.limbs_),
      heads_(other.heads_) {
  point_heads();
}

Matrix& Matrix::operator=(const Matrix& other) {
  if (this != &other) *this = Matrix(other);
  return *this;
}

void Matrix::point_heads() {
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    mpfr_custom_move(&heads_[i], &limbs_[i * limbs_each_]);
  }
}

bool Matrix::operator==(const Matrix& other) const {
  if (rows_ != other.rows_ || columns_ != other.columns_ || bits_ != other.bits_) return false;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const mpfr_srcptr x = &heads_[i], y = &other.heads_[i];
    if (mpfr_nan_p(x) || mpfr_nan_p(y)) {
      if (!mpfr_nan_p(x) || !mpfr_nan_p(y)) return false;
    } else if (!mpfr_equal_p(x, y) || mpfr_signbit(x) != mpfr_signbit(y)) {
      return false;
    }
  }
  return true;
}

Matrix Matrix::part(Range rows, Range columns) const {
  Matrix part(rows.size(), columns.size(), bits_);
  part.unpack({0, rows.size()}, {0, columns.size()}, pack(rows, columns));
  return part;
}

std::vector<std::uint64_t> Matrix::pack(Range rows, Range columns) const {
  std::vector<std::uint64_t> words;
  words.reserve(static_cast<std::size_t>(rows.size()) * static_cast<std::size_t>(columns.size()) *
                (limbs_each_ + 2));
  for (int i = rows.first; i < rows.end; ++i) {
    for (int j = columns.first; j < columns.end; ++j) {
      const mpfr_srcptr x = at(i, j);
      words.push_back(static_cast<std::uint64_t>(x->_mpfr_exp));
      words.push_back(static_cast<std::uint64_t>(x->_mpfr_sign));
      words.insert(words.end(), x->_mpfr_d, x->_mpfr_d + limbs_each_);
    }
  }
  return words;
}

void Matrix::unpack(Range rows, Range columns, std::span<const std::uint64_t> words) {
  TABANE_ASSERT(words.size() == static_cast<std::size_t>(rows.size()) *
                                    static_cast<std::size_t>(columns.size()) * (limbs_each_ + 2));
  const std::uint64_t* next = words.data();
  for (int i = rows.first; i < rows.end; ++i) {
    for (int j = columns.first; j < columns.end; ++j) {
      const mpfr_ptr x = at(i, j);
      x->_mpfr_exp = static_cast<mpfr_exp_t>(*next++);
      x->_mpfr_sign = static_cast<mpfr_sign_t>(*next++);
      for (std::size_t limb = 0; limb < limbs_each_; ++limb) x->_mpfr_d[limb] = *next++;
    }
  }
}

}  // namespace tabane::matmul
