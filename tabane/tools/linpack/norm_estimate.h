// How large a matrix is that can be multiplied with, but is not there element by element.
#pragma once

#include <functional>
#include <span>

namespace tabane::linpack {

// Returns a lower bound of the largest column sum of |B|, B being n x n; most often it is that sum,
// and hardly ever less than a third of it. multiply, multiply_transposed: x := B x, x := B^T x.
// cost: at most 6 products with B and 4 with B^T.
// source: Hager and Higham, as in LAPACK's DLACN2; N. J. Higham, FORTRAN codes for estimating the
// one-norm of a real or complex matrix, ACM Transactions on Mathematical Software 14, 1988.
double estimate_norm(int n, const std::function<void(std::span<double>)>& multiply,
                     const std::function<void(std::span<double>)>& multiply_transposed);

}  // namespace tabane::linpack
