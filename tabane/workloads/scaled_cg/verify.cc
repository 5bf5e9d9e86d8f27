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
               double own, double neighbour) {
  if (!at_side) return face * (neighbour - own);
  const Side& given = problem.sides[side];
  const double value = given.values.at(0, place);
  return given.condition == Condition::dirichlet ? face * (value - own)
                                                 : mesh_width(problem) * value;
}

// Of one unknown, scaled.
std::array<double, kSums> equation_at(const Problem& problem, const System& system, std::size_t i,
                                      std::size_t j) {
  const std::size_t row = system.block().first_row + i, column = system.block().first_column + j;
  const double* const u = system.x.row(static_cast<std::ptrdiff_t>(i)) + j;
  const std::ptrdiff_t below = system.x.stride();
  const Faces faces = faces_of(problem, row, column);
  const double in =
      flow_in(problem, kNorth, row == 0, column, faces.north, *u, u[-below]) +
      flow_in(problem, kSouth, row + 1 == problem.rows, column, faces.south, *u, u[below]) +
      flow_in(problem, kWest, column == 0, row, faces.west, *u, u[-1]) +
      flow_in(problem, kEast, column + 1 == problem.columns, row, faces.east, *u, u[1]);
  const double h = mesh_width(problem), root = std::sqrt(faces.sum()), factor = system.factor();
  return {(h * h * problem.f.at(row, column) + in) / root * factor,
          right_side_of(problem, row, column, faces) / root * factor, *u * root * factor};
}

}  // namespace

Check verify(comm::Comm& comm, const Problem& problem, const System& system, Halo& halo,
             double tolerance, std::size_t iterations) {
  halo.begin(system.x);
  halo.wait();
  halo.place(system.x);
  std::array<double, kSums> sums{};
  for (std::size_t i = 0; i < system.block().rows; ++i) {
    for (std::size_t j = 0; j < system.block().columns; ++j) {
      const std::array<double, kSums> terms = equation_at(problem, system, i, j);
      for (std::size_t k = 0; k < kSums; ++k) sums[k] += terms[k] * terms[k];
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
