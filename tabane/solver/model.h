// What solvers compute between their messages: operations, and bytes of the numbers that are read
// and written. Only machines that are simulated count them, with a rate for each kind.
#pragma once

#include <algorithm>
#include <string_view>

#include "tabane/comm/comm.h"

namespace tabane::solver {

// As the laws compute.product … of a machine name them.
inline constexpr std::string_view kProduct = "product";  // matrix products: much on few numbers
inline constexpr std::string_view kSymmetric = "product.ldlt";  // those of a symmetric matrix
inline constexpr std::string_view kTriangle = "product.ldlt.triangle";  // solves with its blocks
inline constexpr std::string_view kColumn = "column";    // columns or vectors: few operations each
inline constexpr std::string_view kStencil = "stencil";  // a sweep over a mesh
inline constexpr std::string_view kCoupling = "coupling";  // logarithms and arc tangents
inline constexpr std::string_view kMemory = "memory";      // new memory, to and from the system
inline constexpr std::string_view kText = "text";          // numbers to text, and the file

// Of kText: a patch of SLALOM's answer, as the benchmark counts.
inline constexpr double kTextOperations = 48;

// C := C + A B. C is m x n, the inner dimension is k.
inline comm::Work product(double m, double n, double k) {
  m = std::max(m, 0.0);
  return {.kind = kProduct,
          .operations = 2 * m * n * k,
          .bytes = m * n * k > 0 ? 8 * (2 * m * n + (m + n) * k) : 0};
}

// B := L^-1 B. L is a triangle of m columns, B is m x n.
inline comm::Work triangle(double m, double n) {
  n = std::max(n, 0.0);
  return {.kind = kProduct, .operations = m * m * n, .bytes = 8 * (2 * n + m / 2) * m};
}

// A pass over so many numbers.
inline comm::Work pass(double numbers, double operations_each, double bytes_each = 8) {
  numbers = std::max(numbers, 0.0);
  return {.kind = kColumn, .operations = operations_each * numbers, .bytes = bytes_each * numbers};
}

// So many numbers copied from one place to another.
inline comm::Work copies(double numbers) { return pass(numbers, 0, 16); }

// So many numbers changed, each on a cache line of its own.
inline comm::Work lines(double numbers) { return pass(numbers, 0, 64); }

}  // namespace tabane::solver
