#include "tabane/tools/scg/stencil.h"

namespace tabane::scg {
namespace {

double from_side(const Problem& problem, SideIndex side, std::size_t place, double face, double h) {
  const Side& given = problem.sides[side];
  const double value = given.values.at(0, place);
  return given.condition == Condition::dirichlet ? face * value : h * value;
}

}  // namespace

Faces faces_of(const Problem& problem, std::size_t row, std::size_t column) {
  return faces_in<double>(problem, row, column, 1);
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

}  // namespace tabane::scg
