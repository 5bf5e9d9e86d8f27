#include "tabane/comm/grid.h"

#include <fmt/format.h>

#include <cstdint>

namespace tabane::comm {
namespace {

// "1 x 6, 2 x 3, 3 x 2, 6 x 1".
std::string shapes_of(int ranks) {
  std::string text;
  for (int rows = 1; rows <= ranks; ++rows) {
    if (ranks % rows != 0) continue;
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", rows, ranks / rows);
  }
  return text;
}

std::string side(int number) { return number == 0 ? "?" : std::to_string(number); }

[[noreturn]] void throw_no_fit(int ranks, GridShape shape) {
  throw core::UsageError("a grid of {} x {} does not fit {} {}: give {}", side(shape.rows),
                         side(shape.columns), ranks, ranks == 1 ? "rank" : "ranks",
                         shapes_of(ranks));
}

int most_rows_of_square(int ranks) {
  int rows = 1;
  for (int r = 2; r <= ranks / r; ++r) {
    if (ranks % r == 0) rows = r;
  }
  return rows;
}

int wrap(int index, int size) { return (index % size + size) % size; }

}  // namespace

GridShape fit_grid(int ranks, GridShape shape) {
  if (ranks < 1) throw core::UsageError("a grid of {} ranks cannot be", ranks);
  const GridShape wanted = shape;
  if (wanted.rows < 0 || wanted.columns < 0) throw_no_fit(ranks, wanted);
  if (wanted.rows == 0) {
    shape.rows = wanted.columns == 0 ? most_rows_of_square(ranks) : ranks / wanted.columns;
  }
  if (wanted.columns == 0) shape.columns = ranks / shape.rows;
  if (std::int64_t{shape.rows} * shape.columns != ranks) throw_no_fit(ranks, wanted);
  return shape;
}

Grid::Grid(Comm& comm, GridShape shape)
    : all_(comm),
      shape_(fit_grid(comm.size(), shape)),
      row_(all_.split(my_row(), my_column()).value()),
      column_(all_.split(my_column(), my_row()).value()) {}

Grid::Grid(Comm& comm, int rows, int columns) : Grid(comm, GridShape{rows, columns}) {}

int Grid::rank_at(int row, int column) const {
  return wrap(row, shape_.rows) * shape_.columns + wrap(column, shape_.columns);
}

}  // namespace tabane::comm
