// How large matrices and precisions may be, and the matrices of the published comparison.
#pragma once

#include <cstdint>

#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {

inline constexpr int kMostRows = 100000;  // and columns
inline constexpr mpfr_prec_t kLeastBits = 2, kMostBits = 1000000;
inline constexpr int kMostThreads = 64;

// throws: core::UsageError naming the limits.
void require_shape(int rows, int columns);
void require_bits(mpfr_prec_t bits);
// throws: core::UsageError if a b cannot be meant.
void require_product(const Matrix& a, const Matrix& b);

// sqrt(factor) times uniform numbers of [0, 1) with as many bits as the elements; the published
// comparison has factors 2 and 3. Those of one seed are the same everywhere.
Matrix random_matrix(int rows, int columns, mpfr_prec_t bits, unsigned factor,
                     std::uint64_t seed = 1);

}  // namespace tabane::matmul
