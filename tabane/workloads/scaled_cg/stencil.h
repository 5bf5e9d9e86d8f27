// The equations of single unknowns, before they are scaled.
#pragma once

#include <cstddef>

#include "tabane/workloads/scaled_cg/problem.h"

namespace tabane::workloads::scaled_cg {

// What the faces around an unknown conduct; 0 where it is a Neumann side.
struct Faces {
  double north = 0, south = 0, west = 0, east = 0;

  double sum() const { return (north + south) + (west + east); }  // the diagonal of A
};
Faces faces_of(const Problem& problem, std::size_t row, std::size_t column);

// What is known of an unknown's equation: h^2 f, what the faces conduct from Dirichlet sides, and
// what flows in over Neumann sides.
double right_side_of(const Problem& problem, std::size_t row, std::size_t column,
                     const Faces& faces);

}  // namespace tabane::workloads::scaled_cg
