// The equations of single unknowns, before they are scaled.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tabane/tools/scg/problem.h"

namespace tabane::scg {

// What the faces around an unknown conduct; 0 where it is a Neumann side. T: double or Twice.
template <class T>
struct FacesIn {
  T north = 0, south = 0, west = 0, east = 0;

  T sum() const { return (north + south) + (west + east); }  // the diagonal of A
};
using Faces = FacesIn<double>;

// Symmetric, and without overflow or underflow.
template <class T>
T mean_of(FaceMean mean, double a, double b) {
  if (mean == FaceMean::arithmetic) return T(0.5 * a) + T(0.5 * b);
  return T(std::max(a, b)) / (T(a) + T(b)) * T(2 * std::min(a, b));
}

// of_k: multiplies k; a power of two.
template <class T>
FacesIn<T> faces_in(const Problem& problem, std::size_t row, std::size_t column, double of_k) {
  const Values& k = problem.k;
  const double own = k.at(row, column) * of_k;
  const auto between = [&](std::size_t i, std::size_t j) {
    return mean_of<T>(problem.mean, own, k.at(i, j) * of_k);
  };
  const auto at = [&](SideIndex side) {
    return T(problem.sides[side].condition == Condition::dirichlet ? own : 0);
  };
  return {row > 0 ? between(row - 1, column) : at(kNorth),
          row + 1 < problem.rows ? between(row + 1, column) : at(kSouth),
          column > 0 ? between(row, column - 1) : at(kWest),
          column + 1 < problem.columns ? between(row, column + 1) : at(kEast)};
}
Faces faces_of(const Problem& problem, std::size_t row, std::size_t column);

// What is known of an unknown's equation: h^2 f, what the faces conduct from Dirichlet sides, and
// what flows in over Neumann sides.
double right_side_of(const Problem& problem, std::size_t row, std::size_t column,
                     const Faces& faces);

}  // namespace tabane::scg
