#include "tabane/tools/matmul/problem.h"

#include <fmt/format.h>

#include <vector>

#include "tabane/core/error.h"
#include "tabane/tools/matmul/random.h"

namespace tabane::matmul {
void require_shape(int rows, int columns) {
  if (rows >= 0 && columns >= 0 && rows <= kMostRows && columns <= kMostRows) return;
  throw core::UsageError(
      fmt::format("a matrix has 0 to {} rows and columns, not {} x {}", kMostRows, rows, columns));
}

void require_bits(mpfr_prec_t bits) {
  if (bits >= kLeastBits && bits <= kMostBits) return;
  throw core::UsageError(
      fmt::format("the precision must be {} to {} bits, not {}", kLeastBits, kMostBits, bits));
}

void require_product(const Matrix& a, const Matrix& b) {
  if (a.columns() == b.rows()) return;
  throw core::UsageError(
      fmt::format("a {} x {} matrix cannot be multiplied by a {} x {} one: as many rows as the "
                  "first one has columns are needed",
                  a.rows(), a.columns(), b.rows(), b.columns()));
}

Matrix random_matrix(int rows, int columns, mpfr_prec_t bits, unsigned factor, std::uint64_t seed) {
  Matrix matrix(rows, columns, bits);
  mpfr_t root;
  mpfr_init2(root, bits);
  mpfr_sqrt_ui(root, factor, MPFR_RNDN);
  const std::uint64_t stream = random_bits(seed, factor);
  std::uint64_t index = 0;
  std::vector<mp_limb_t> digits((static_cast<std::size_t>(bits) + GMP_NUMB_BITS - 1) /
                                GMP_NUMB_BITS);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      for (mp_limb_t& limb : digits) limb = random_bits(stream, index++);
      digits.back() >>= static_cast<mpfr_prec_t>(digits.size()) * GMP_NUMB_BITS - bits;
      mpz_t whole;
      mpz_roinit_n(whole, digits.data(), static_cast<mp_size_t>(digits.size()));
      mpfr_set_z_2exp(matrix.at(i, j), whole, -bits, MPFR_RNDN);  // exact
      mpfr_mul(matrix.at(i, j), matrix.at(i, j), root, MPFR_RNDN);
    }
  }
  mpfr_clear(root);
  return matrix;
}

}  // namespace tabane::matmul
