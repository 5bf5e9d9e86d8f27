#include "tabane/workloads/scaled_cg/verify.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tabane/comm/collectives.h"
#include "tabane/workloads/scaled_cg/stencil.h"

namespace tabane::workloads::scaled_cg {
namespace {

enum Sum { kResidual, kRightSide, kSolution, kSums };

// What flows into the square over one face: from the neighbour, or as the side says.
double flow_in(const Problem& problem, SideIndex side, bool at_side, std::size_t place, double face,
               double own, double neighbour, double h) {
  if (!at_side) return face * (neighbour - own);
  const Side& given = problem.sides[side];
  const double value = given.values.at(0, place);
  return given.condition == Condition::dirichlet ? face * (value - own) : h * value;
}

}  // namespace

Check verify(comm::Comm& comm, const Problem& problem, const System& system, Halo& halo,
             double tolerance, std::size_t iterations) {
  halo.begin(system.x);
  halo.wait();
  halo.place(system.x);
  const Block& block = system.block();
  const double h = mesh_width(problem), factor = system.factor();
  std::array<double, kSums> sums{};
  for (std::size_t i = 0; i < block.rows; ++i) {
    const auto local = static_cast<std::ptrdiff_t>(i);
    const double* const u = system.x.row(local);
    const double* const above = system.x.row(local - 1);
    const double* const below = system.x.row(local + 1);
    const std::size_t row = block.first_row + i;
    for (std::size_t j = 0; j < block.columns; ++j) {
      const std::size_t column = block.first_column + j;
      const Faces faces = faces_of(problem, row, column);
      const double in =
          flow_in(problem, kNorth, row == 0, column, faces.north, u[j], above[j], h) +
          flow_in(problem, kSouth, row + 1 == problem.rows, column, faces.south, u[j], below[j],
                  h) +
          flow_in(problem, kWest, column == 0, row, faces.west, u[j], (u + j)[-1], h) +
          flow_in(problem, kEast, column + 1 == problem.columns, row, faces.east, u[j], u[j + 1],
                  h);
      const double root = std::sqrt(faces.sum());
      const auto add_square = [&](Sum to, double value) { sums[to] += value * value; };
      add_square(kResidual, (h * h * problem.f.at(row, column) + in) / root * factor);
      add_square(kRightSide, right_side_of(problem, row, column, faces) / root * factor);
      add_square(kSolution, u[j] * root * factor);
    }
  }
  comm::all_reduce(comm, sums, comm::Operation::sum);
  const double right = std::sqrt(sums[kRightSide]);
  if (right == 0) return {std::sqrt(sums[kResidual]), 0};
  const double rounding =
      64 * 0x1p-53 * static_cast<double>(iterations + 1) * std::sqrt(sums[kSolution]) / right;
  return {std::sqrt(sums[kResidual]) / right, tolerance + std::min(rounding, kMostRounding)};
}

}  // namespace tabane::workloads::scaled_cg
