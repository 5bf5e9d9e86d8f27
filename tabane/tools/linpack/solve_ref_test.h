// A solver for tests.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {

// Solves on the calling process alone: x, or nothing if the matrix is singular.
inline std::vector<double> solve_ref(const System& system) {
  const int n = system.n();
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::vector<double>> column(size + 1, std::vector<double>(size));
  for (int j = 0; j <= n; ++j) system.read(j, 0, column[j]);
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < size; ++i) {
      if (std::abs(column[k][i]) > std::abs(column[k][pivot])) pivot = i;
    }
    if (column[k][pivot] == 0) return {};
    for (auto& values : column) std::swap(values[k], values[pivot]);
    for (std::size_t i = k + 1; i < size; ++i) {
      const double factor = column[k][i] / column[k][k];
      for (std::size_t j = k; j <= size; ++j) column[j][i] -= factor * column[j][k];
    }
  }
  std::vector<double> x = column[size];
  for (std::size_t k = size; k-- > 0;) {
    x[k] /= column[k][k];
    for (std::size_t i = 0; i < k; ++i) x[i] -= column[k][i] * x[k];
  }
  return x;
}

}  // namespace tabane::linpack
