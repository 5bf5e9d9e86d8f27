#include "tabane/tools/slalom/factor_block.h"

#include <algorithm>

#include "tabane/solver/blas.h"

namespace tabane::slalom {
namespace {

constexpr int kSmall = 16;

void factor_small(double* a, int n, std::size_t ld) {
  for (int k = 0; k < n; ++k) {
    double* const pivot = a + static_cast<std::size_t>(k) * ld;
    const double inverse = 1 / pivot[k];
    for (int j = k + 1; j < n; ++j) {
      double* const column = a + static_cast<std::size_t>(j) * ld;
      const double factor = pivot[j] * inverse;
      for (int i = j; i < n; ++i) column[i] -= pivot[i] * factor;
    }
    for (int i = k + 1; i < n; ++i) pivot[i] *= inverse;
  }
}

}  // namespace

// Halves: L11 D1 L11^T = A11; X = A21 L11^-T; L21 = X D1^-1; A22 - L21 X^T goes on.
void factor_block(double* a, int n, std::size_t ld, std::vector<double>& space) {
  if (n <= kSmall) return factor_small(a, n, ld);
  const int half = n / 2 / 8 * 8, rest = n - half;
  const auto stride = static_cast<int>(ld);
  double* const below = a + half;
  double* const corner = a + static_cast<std::size_t>(half) * ld + half;
  factor_block(a, half, ld, space);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, rest, half, 1, a,
              stride, below, stride);
  space.resize(std::max(space.size(), static_cast<std::size_t>(rest) * half));
  for (int j = 0; j < half; ++j) {
    double* const column = below + static_cast<std::size_t>(j) * ld;
    std::copy_n(column, rest, space.data() + static_cast<std::size_t>(j) * rest);
    const double inverse = 1 / a[static_cast<std::size_t>(j) * ld + j];
    for (int i = 0; i < rest; ++i) column[i] *= inverse;
  }
  solver::add_product(CblasNoTrans, CblasTrans, rest, rest, half, -1, below, stride, space.data(),
                      rest, corner, stride);
  factor_block(corner, rest, ld, space);
}

}  // namespace tabane::slalom
