#include "tabane/tools/scg/system.h"

#include <algorithm>
#include <cmath>

#include "tabane/tools/scg/problem.h"

namespace tabane::scg {
namespace {

struct MeshPoint {
  std::size_t row = 0, column = 0;
};

// row, column: of the block, -1 and beyond its end included.
MeshPoint point_of(const Block& block, std::ptrdiff_t row, std::ptrdiff_t column) {
  return {static_cast<std::size_t>(static_cast<std::ptrdiff_t>(block.first_row) + row),
          static_cast<std::size_t>(static_cast<std::ptrdiff_t>(block.first_column) + column)};
}

}  // namespace

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

// Outside the rectangle 0.
double System::scale_at(std::ptrdiff_t row, std::ptrdiff_t column) const {
  const MeshPoint at = point_of(block_, row, column);
  if (at.row >= problem_.rows || at.column >= problem_.columns) return 0;
  if (uniform_scale_ != 0) return uniform_scale_;
  return 1 / std::sqrt(faces_of(problem_, at.row, at.column).sum());
}

void System::fill_right_side() {
  for (std::size_t i = 0; i < block_.rows; ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i);
    double* const to = r.row(row);
    for (std::size_t j = 0; j < block_.columns; ++j) {
      const MeshPoint at = point_of(block_, row, static_cast<std::ptrdiff_t>(j));
      const Faces faces = faces_of(problem_, at.row, at.column);
      to[j] = right_side_of(problem_, at.row, at.column, faces) / std::sqrt(faces.sum());
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
  for (std::size_t i = 0; i < block_.rows; ++i) {
    double* const row = r.row(static_cast<std::ptrdiff_t>(i));
    for (std::size_t j = 0; j < block_.columns; ++j) row[j] *= factor;
  }
}

void System::unscale() {
  for (std::size_t i = 0; i < block_.rows; ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i);
    for (std::size_t j = 0; j < block_.columns; ++j) {
      x.row(row)[j] *= scale_at(row, static_cast<std::ptrdiff_t>(j)) / factor_;
    }
  }
}

}  // namespace tabane::scg
