#include "tabane/workloads/scaled_cg/stencil.h"

namespace tabane::workloads::scaled_cg {
namespace {

double mean_of(FaceMean mean, double a, double b) {
  if (mean == FaceMean::arithmetic) return 0.5 * a + 0.5 * b;
  return a / (a + b) * b * 2;  // no overflow
}

// k: of the unknown.
double at_side(const Problem& problem, SideIndex side, double k) {
  return problem.sides[side].condition == Condition::dirichlet ? k : 0;
}

double from_side(const Problem& problem, SideIndex side, std::size_t place, double face, double h) {
  const Side& given = problem.sides[side];
  const double value = given.values.at(0, place);
  return given.condition == Condition::dirichlet ? face * value : h * value;
}

}  // namespace

Faces faces_of(const Problem& problem, std::size_t row, std::size_t column) {
  const Values& k = problem.k;
  const double own = k.at(row, column);
  const auto between = [&](std::size_t i, std::size_t j) {
    return mean_of(problem.mean, own, k.at(i, j));
  };
  return {row > 0 ? between(row - 1, column) : at_side(problem, kNorth, own),
          row + 1 < problem.rows ? between(row + 1, column) : at_side(problem, kSouth, own),
          column > 0 ? between(row, column - 1) : at_side(problem, kWest, own),
          column + 1 < problem.columns ? between(row, column + 1) : at_side(problem, kEast, own)};
}

double right_side_of(const Problem& problem, std::size_t row, std::size_t column,
                     const Faces& faces) {
  const double h = mesh_width(problem);
  double sum = h * h * problem.f.at(row, column);
  if (row == 0) sum += from_side(problem, kNorth, column, faces.north, h);
  if (row + 1 == problem.rows) sum += from_side(problem, kSouth, column, faces.south, h);
  if (column == 0) sum += from_side(problem, kWest, row, faces.west, h);
  if (column + 1 == problem.columns) sum += from_side(problem, kEast, row, faces.east, h);
  return sum;
}

}  // namespace tabane::workloads::scaled_cg
