#include "tabane/tools/scg/refine.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/simd/reduction.h"
#include "tabane/tools/scg/stencil.h"
#include "tabane/tools/scg/twice.h"

namespace tabane::scg {
namespace {

// A row of what faces conduct, those to its west and north included.
struct FaceRow {
  const double* east;
  const double* south;
  const double* north;

  double sum(std::ptrdiff_t j) const { return (north[j] + south[j]) + (east[j - 1] + east[j]); }
};
FaceRow faces_of_row(const System& system, std::ptrdiff_t row) {
  return {system.east.row(row), system.south.row(row), system.south.row(row - 1)};
}

}  // namespace

Refinement::Refinement(comm::Comm& comm, const Problem& problem, System& system, Halo& halo,
                       double of_k)
    : comm_(comm),
      system_(system),
      halo_(halo),
      differences_(system.block().columns),
      flows_(system.block().columns),
      z_(system.block().columns) {
  const Block& block = system.block();
  if (!system.east.exists()) {
    system.east = Field(block.rows, block.columns, 3);
    system.south = Field(block.rows, block.columns, 4);
  }
  for (std::size_t i = 0; i < block.rows; ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i);
    for (std::size_t j = 0; j < block.columns; ++j) {
      const Faces faces =
          faces_in<double>(problem, block.first_row + i, block.first_column + j, of_k);
      system.east.row(row)[j] = faces.east;
      system.south.row(row)[j] = faces.south;
      if (j == 0) system.east.row(row)[-1] = faces.west;
      if (i == 0) system.south.row(-1)[j] = faces.north;
    }
  }
}

double Refinement::diagonal(std::ptrdiff_t row, std::ptrdiff_t column) const {
  return faces_of_row(system_, row).sum(column);
}

// p := D^-1 r + beta p.
void Refinement::turn(double beta) {
  const auto columns = static_cast<std::ptrdiff_t>(system_.block().columns);
  for (std::size_t i = 0; i < system_.block().rows; ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i);
    const FaceRow faces = faces_of_row(system_, row);
    const double* const r = system_.r.row(row);
    double* const p = system_.p.row(row);
    for (std::ptrdiff_t j = 0; j < columns; ++j) p[j] = r[j] / faces.sum(j) + beta * p[j];
  }
  halo_.exchange(system_.p);
}

// (p, A p): over all faces, what each conducts times the square of the difference. Those to the
// north and the west of the block are the neighbours', if there are any.
double Refinement::curvature() {
  const Block& block = system_.block();
  double sum = 0;
  const auto columns = static_cast<std::ptrdiff_t>(block.columns);
  const auto add = [&](const double* faces, const double* p, const double* other) {
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      const double difference = p[j] - other[j];
      differences_[static_cast<std::size_t>(j)] = difference;
      flows_[static_cast<std::size_t>(j)] = faces[j] * difference;
    }
    sum += simd::dot(differences_, flows_);
  };
  for (std::size_t i = 0; i < block.rows; ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i);
    const FaceRow faces = faces_of_row(system_, row);
    const double* const p = system_.p.row(row);
    add(faces.east, p, p + 1);
    add(faces.south, p, system_.p.row(row + 1));
    if (i == 0 && block.neighbours[kNorth] < 0) add(faces.north, p, system_.p.row(-1));
    if (block.neighbours[kWest] < 0) sum += faces.east[-1] * (p[0] - p[-1]) * (p[0] - p[-1]);
  }
  return comm::all_reduce(comm_, sum, comm::Operation::sum);
}

// r := r - alpha A p, x := x + alpha p.
Refinement::Rest Refinement::advance(double alpha, Field& high, Field& low) {
  const auto columns = static_cast<std::ptrdiff_t>(system_.block().columns);
  Rest rest;
  for (std::size_t i = 0; i < system_.block().rows; ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i);
    const FaceRow faces = faces_of_row(system_, row);
    const double* const p = system_.p.row(row);
    const double* const above = system_.p.row(row - 1);
    const double* const below = system_.p.row(row + 1);
    double* const __restrict r = system_.r.row(row);
    double* const __restrict x = high.row(row);
    double* const __restrict x_low = low.row(row);
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      const double vertical =
          faces.north[j] * (p[j] - above[j]) + faces.south[j] * (p[j] - below[j]);
      const double along =
          faces.east[j - 1] * (p[j] - p[j - 1]) + faces.east[j] * (p[j] - p[j + 1]);
      r[j] -= alpha * (vertical + along);
      const Twice sum = Twice(x[j], x_low[j]) + exact_product(alpha, p[j]);
      x[j] = sum.hi;
      x_low[j] = sum.lo;
    }
    rest = add_rest(row, rest);
  }
  return over_ranks(rest);
}

Refinement::Rest Refinement::add_rest(std::ptrdiff_t row, Rest rest) {
  const FaceRow faces = faces_of_row(system_, row);
  const std::span<const double> r(system_.r.row(row), z_.size());
  for (std::size_t j = 0; j < z_.size(); ++j) {
    z_[j] = r[j] / faces.sum(static_cast<std::ptrdiff_t>(j));
    rest.largest = std::max(rest.largest, std::fabs(z_[j]));
  }
  rest.square += simd::dot(z_, r);
  return rest;
}

Refinement::Rest Refinement::over_ranks(Rest own) {
  return {comm::all_reduce(comm_, own.square, comm::Operation::sum),
          comm::all_reduce(comm_, own.largest, comm::Operation::max)};
}

std::size_t Refinement::solve(Field& high, Field& low, double least, std::size_t most) {
  Rest rest;
  for (std::size_t i = 0; i < system_.block().rows; ++i) {
    rest = add_rest(static_cast<std::ptrdiff_t>(i), rest);
  }
  rest = over_ranks(rest);
  std::size_t iterations = 0;
  double beta = 0;
  while (rest.largest > least && iterations < most) {
    turn(beta);
    const double product = curvature();
    if (!(product > 0)) break;  // nothing left, or no number
    const Rest next = advance(rest.square / product, high, low);
    beta = next.square / rest.square;
    rest = next;
    ++iterations;
  }
  return iterations;
}

}  // namespace tabane::scg
