#include "tabane/tools/scg/system.h"

#include <algorithm>
#include <cmath>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/simd/reduction.h"

namespace tabane::scg {
namespace {

bool fits(comm::GridShape grid, const Problem& problem) {
  return static_cast<std::size_t>(grid.rows) <= problem.rows &&
         static_cast<std::size_t>(grid.columns) <= problem.columns;
}

// The elements in the halo of the rank that has the most neighbours.
double halo_cost(comm::GridShape grid, const Problem& problem) {
  const double across = std::min(2, grid.rows - 1), along = std::min(2, grid.columns - 1);
  return across * static_cast<double>(problem.columns) / grid.columns +
         2 * along * static_cast<double>(problem.rows) / grid.rows;
}

// Returns a grid of 0 rows if none fits.
comm::GridShape best_grid(int ranks, const Problem& problem, comm::GridShape wanted) {
  comm::GridShape best{};
  for (int rows = ranks; rows >= 1; --rows) {
    const comm::GridShape grid{rows, ranks / rows};
    if (ranks % rows != 0 || !fits(grid, problem)) continue;
    if ((wanted.rows != 0 && wanted.rows != rows) ||
        (wanted.columns != 0 && wanted.columns != grid.columns)) {
      continue;
    }
    if (best.rows == 0 || halo_cost(grid, problem) < halo_cost(best, problem)) best = grid;
  }
  return best;
}

// Of the rows or columns: [first, end).
struct IndexRange {
  std::size_t first = 0, end = 0;
  std::size_t size() const { return end - first; }
};
IndexRange part_of(std::size_t whole, int parts, int part) {
  const auto p = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(part);
  return {whole * i / p, whole * (i + 1) / p};
}

// The elements along a side; beyond: those of the frame.
struct EdgeElements {
  double* first;
  std::ptrdiff_t step;
};
EdgeElements edge_of(const Field& field, const Block& block, int side, bool beyond) {
  const auto rows = static_cast<std::ptrdiff_t>(block.rows);
  const auto columns = static_cast<std::ptrdiff_t>(block.columns);
  switch (side) {
    case kNorth:
      return {field.row(beyond ? -1 : 0), 1};
    case kSouth:
      return {field.row(beyond ? rows : rows - 1), 1};
    case kWest:
      return {field.row(0) - (beyond ? 1 : 0), field.stride()};
    default:
      return {field.row(0) + (beyond ? columns : columns - 1), field.stride()};
  }
}

// Returns the sum of c[i * step] a[i] b[i], in four chains of additions.
double weighted_dot(const double* c, std::ptrdiff_t step, const std::vector<double>& a,
                    const std::vector<double>& b) {
  std::array<double, 4> sums{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    sums[i % 4] += c[static_cast<std::ptrdiff_t>(i) * step] * a[i] * b[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

struct MeshPoint {
  std::size_t row = 0, column = 0;
};

// row, column: of the block, -1 and beyond its end included.
MeshPoint point_of(const Block& block, std::ptrdiff_t row, std::ptrdiff_t column) {
  return {static_cast<std::size_t>(static_cast<std::ptrdiff_t>(block.first_row) + row),
          static_cast<std::size_t>(static_cast<std::ptrdiff_t>(block.first_column) + column)};
}

}  // namespace

comm::GridShape choose_grid(int ranks, const Problem& problem, comm::GridShape wanted) {
  const comm::GridShape grid = best_grid(ranks, problem, wanted);
  if (grid.rows != 0) return grid;
  if (wanted.rows != 0 && wanted.columns != 0) {
    comm::fit_grid(ranks, wanted);
    throw core::UsageError("--grid {}x{} does not fit a mesh of {} x {} unknowns", wanted.rows,
                           wanted.columns, problem.rows, problem.columns);
  }
  throw core::UsageError("no grid of {} ranks fits a mesh of {} x {} unknowns: give --ranks {}",
                         ranks, problem.rows, problem.columns, most_ranks(ranks, problem));
}

int most_ranks(int limit, const Problem& problem) {
  int ranks = limit;
  while (ranks > 1 && best_grid(ranks, problem, {}).rows == 0) --ranks;
  return ranks;
}

Block block_of(const Problem& problem, comm::GridShape grid, int rank) {
  const int row = rank / grid.columns, column = rank % grid.columns;
  const IndexRange rows = part_of(problem.rows, grid.rows, row);
  const IndexRange columns = part_of(problem.columns, grid.columns, column);
  Block block{rows.first, rows.size(), columns.first, columns.size()};
  if (row > 0) block.neighbours[kNorth] = rank - grid.columns;
  if (row + 1 < grid.rows) block.neighbours[kSouth] = rank + grid.columns;
  if (column > 0) block.neighbours[kWest] = rank - 1;
  if (column + 1 < grid.columns) block.neighbours[kEast] = rank + 1;
  return block;
}

double largest_in(comm::Comm& comm, const Field& field) {
  double most = 0;
  for (const double value : field.all()) most = std::max(most, std::fabs(value));
  return comm::all_reduce(comm, most, comm::Operation::max);
}

double scale_to_one(double value) {
  constexpr int kMost = 1000;  // 2^-1000 is a normal number, too
  return std::ldexp(1, std::clamp(-std::ilogb(value), -kMost, kMost));
}

Halo::Halo(comm::Comm& comm, const Block& block) : comm_(comm), block_(block) {
  for (int side = 0; side < kSides; ++side) {
    const auto s = static_cast<std::size_t>(side);
    if (block.neighbours[s] < 0) continue;
    edges_[s] = {std::vector<double>(length(side)), std::vector<double>(length(side))};
  }
  spare_.resize(std::max(block.rows, block.columns));
  requests_.reserve(2 * kSides);
}

std::size_t Halo::length(int side) const {
  return side == kNorth || side == kSouth ? block_.columns : block_.rows;
}

void Halo::copy_edge(const Field& field, int side, std::vector<double>& to) const {
  const EdgeElements edge = edge_of(field, block_, side, false);
  for (std::size_t i = 0; i < length(side); ++i) {
    to[i] = edge.first[static_cast<std::ptrdiff_t>(i) * edge.step];
  }
}

void Halo::begin(const Field& p) {
  for (int side = 0; side < kSides; ++side) {
    std::vector<double>& sent = edges_[side].sent;
    if (!sent.empty()) copy_edge(p, side, sent);
  }
  start();
}

// What is sent is computed twice, here and in the pass over the block, which meanwhile need not
// care for its edges.
void Halo::begin(const Field& r, double beta, const Field& p) {
  for (int side = 0; side < kSides; ++side) {
    std::vector<double>& sent = edges_[side].sent;
    if (sent.empty()) continue;
    if (side == kNorth || side == kSouth) {
      combine(edge_of(r, block_, side, false).first, beta, edge_of(p, block_, side, false).first,
              sent.data(), sent.size());
    } else {
      copy_edge(r, side, sent);
      copy_edge(p, side, spare_);
      combine(sent.data(), beta, spare_.data(), sent.data(), sent.size());
    }
  }
  start();
}

// A message's tag is the side that it leaves by.
void Halo::start() {
  requests_.clear();
  for (int side = 0; side < kSides; ++side) {
    Edge& edge = edges_[side];
    const int neighbour = block_.neighbours[side];
    if (neighbour < 0) continue;
    requests_.push_back(
        comm_.irecv(neighbour, edge.received, opposite(static_cast<SideIndex>(side))));
    requests_.push_back(comm_.isend(neighbour, edge.sent, side));
  }
}

void Halo::wait() {
  comm::wait_all(requests_);
  requests_.clear();
}

void Halo::place(const Field& p) {
  for (int side = 0; side < kSides; ++side) {
    const std::vector<double>& received = edges_[side].received;
    if (received.empty()) continue;
    const EdgeElements edge = edge_of(p, block_, side, true);
    for (std::size_t i = 0; i < received.size(); ++i) {
      edge.first[static_cast<std::ptrdiff_t>(i) * edge.step] = received[i];
    }
  }
}

double Halo::cut_edges(const Field& p, const Couplings& couplings) const {
  double sum = 0;
  for (const int side : {kNorth, kWest}) {
    const Edge& edge = edges_[side];
    if (edge.sent.empty()) continue;
    if (couplings.east == nullptr) {
      sum += 0.25 * simd::dot(edge.sent, edge.received);
    } else if (side == kNorth) {
      sum += weighted_dot(couplings.south - p.stride(), 1, edge.sent, edge.received);
    } else {
      sum += weighted_dot(couplings.east - 1, p.stride(), edge.sent, edge.received);
    }
  }
  return sum;
}

System::System(const Problem& problem, const Block& block)
    : p(block.rows, block.columns, 0),
      r(block.rows, block.columns, 1),
      x(block.rows, block.columns, 2),
      problem_(problem),
      block_(block) {
  if (is_uniform(problem)) {
    uniform_scale_ = 1 / std::sqrt(4 * problem.k.constant);
  } else {
    east = Field(block.rows, block.columns, 3);
    south = Field(block.rows, block.columns, 4);
  }
  fill_right_side();
  if (east.exists()) fill_couplings();
}

// Returns 0 outside the rectangle.
double System::scale_at(std::ptrdiff_t row, std::ptrdiff_t column) const {
  const MeshPoint at = point_of(block_, row, column);
  if (at.row >= problem_.rows || at.column >= problem_.columns) return 0;
  if (uniform_scale_ != 0) return uniform_scale_;
  return 1 / std::sqrt(faces_of(problem_, at.row, at.column).sum());
}

void System::fill_right_side() {
  for (std::size_t i = 0; i < block_.rows; ++i) {
    double* const to = r.row(i);
    for (std::size_t j = 0; j < block_.columns; ++j) {
      const std::size_t row = block_.first_row + i, column = block_.first_column + j;
      const Faces faces = faces_of(problem_, row, column);
      to[j] = right_side_of(problem_, row, column, faces) / std::sqrt(faces.sum());
    }
  }
}

// An unknown's coupling is the conductance of the face times both scales. x holds the scales
// meanwhile.
void System::fill_couplings() {
  const auto rows = static_cast<std::ptrdiff_t>(block_.rows);
  const auto columns = static_cast<std::ptrdiff_t>(block_.columns);
  for (std::ptrdiff_t i = -1; i <= rows; ++i) {
    for (std::ptrdiff_t j = -1; j <= columns; ++j) x.row(i)[j] = scale_at(i, j);
  }
  for (std::ptrdiff_t i = -1; i < rows; ++i) {
    for (std::ptrdiff_t j = -1; j < columns; ++j) {
      const MeshPoint at = point_of(block_, i, j);
      if (at.row >= problem_.rows || at.column >= problem_.columns) continue;
      const Faces faces = faces_of(problem_, at.row, at.column);
      const double scale = x.row(i)[j];
      east.row(i)[j] = faces.east * scale * x.row(i)[j + 1];
      south.row(i)[j] = faces.south * scale * x.row(i + 1)[j];
    }
  }
  for (std::ptrdiff_t i = -1; i <= rows; ++i) std::fill_n(x.row(i) - 1, columns + 2, 0.0);
}

void System::normalise(double factor) {
  factor_ = factor;
  for (double& value : r.all()) value *= factor;
}

void System::unscale() {
  const auto rows = static_cast<std::ptrdiff_t>(block_.rows);
  const auto columns = static_cast<std::ptrdiff_t>(block_.columns);
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t j = 0; j < columns; ++j) x.row(i)[j] *= scale_at(i, j) / factor_;
  }
}

}  // namespace tabane::scg
