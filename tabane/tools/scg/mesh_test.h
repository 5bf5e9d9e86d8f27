// For tests: where the unknowns of a problem are.
#pragma once

#include "tabane/tools/scg/problem.h"

namespace tabane::scg {

inline double place_on_mesh(const Problem& problem, SideIndex from, std::size_t index) {
  const bool beyond = problem.sides[from].condition == Condition::dirichlet;
  return mesh_width(problem) * (static_cast<double>(index) + (beyond ? 1 : 0.5));
}
// From the west side; from the north side.
inline double x_of(const Problem& problem, std::size_t column) {
  return place_on_mesh(problem, kWest, column);
}
inline double y_of(const Problem& problem, std::size_t row) {
  return place_on_mesh(problem, kNorth, row);
}

}  // namespace tabane::scg
