#include "tabane/workloads/slalom/panel_exchange.h"

#include <algorithm>
#include <numeric>

#include "tabane/comm/collectives.h"

namespace tabane::workloads::slalom {
namespace {

// Copies `rows` x `columns` numbers.
void copy_block(int rows, int columns, const double* from, std::size_t ld_from, double* to,
                std::size_t ld_to) {
  for (int j = 0; j < columns; ++j, from += ld_from, to += ld_to) std::copy_n(from, rows, to);
}

}  // namespace

PanelExchange::PanelExchange(comm::Grid& grid, comm::Steps& steps, const Distribution& distribution,
                             int matrices)
    : grid_(grid), steps_(steps), distribution_(distribution) {
  begin(-1, distribution.rows.block, matrices);
}

std::size_t PanelExchange::bytes(const Distribution& distribution, int matrices) {
  const auto columns = static_cast<std::size_t>(distribution.columns.my_count());
  const auto rows = static_cast<std::size_t>(distribution.rows.my_count());
  const auto one_column =
      rows + 2 * columns + columns / static_cast<std::size_t>(distribution.rows.parts);
  return one_column * static_cast<std::size_t>(distribution.rows.block * matrices) * sizeof(double);
}

void PanelExchange::begin(int after, int inner, int matrices) {
  after_ = after;
  inner_ = inner;
  matrices_ = matrices;
  rows_ = distribution_.rows.my_count() - distribution_.rows.indices_before(after + 1);
  columns_ = distribution_.columns.my_count() - distribution_.columns.indices_before(after + 1);
  left_.resize((panel_numbers() + static_cast<std::size_t>(inner)) *
               static_cast<std::size_t>(matrices));
  right_.resize(right_numbers() * static_cast<std::size_t>(matrices));
}

std::span<double> PanelExchange::scales(int q) {
  const auto inner = static_cast<std::size_t>(inner_);
  const std::size_t begin = panel_numbers() * static_cast<std::size_t>(matrices_);
  return std::span(left_).subspan(begin + inner * static_cast<std::size_t>(q), inner);
}

const double* PanelExchange::right(int q) const {
  return right_.data() + right_numbers() * static_cast<std::size_t>(q);
}

void PanelExchange::share(int owner) {
  {
    const auto in = steps_.in(kWaiting);
    comm::barrier(grid_.all());
  }
  const auto in = steps_.in(kBroadcast);
  if (grid_.columns() > 1) comm::broadcast(grid_.row(), left_, owner);
  pack();
  comm::all_gather_varying(grid_.column(), packed_, gathered_, counts_);
  unpack();
}

// The rows of blocks that are this rank's as rows and as columns.
void PanelExchange::pack() {
  const BlockCyclic& rows = distribution_.rows;
  const BlockCyclic& columns = distribution_.columns;
  counts_.assign(static_cast<std::size_t>(rows.parts), 0);
  for (int b = after_ + 1; b < rows.blocks(); ++b) {
    if (columns.owner(b) != columns.mine) continue;
    counts_[static_cast<std::size_t>(rows.owner(b))] +=
        static_cast<std::size_t>(rows.size(b) * inner_ * matrices_);
  }
  packed_.resize(counts_[static_cast<std::size_t>(rows.mine)]);
  gathered_.resize(std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}));
  double* to = packed_.data();
  const int before = rows.indices_before(after_ + 1);
  for (int b = after_ + 1; b < rows.blocks(); ++b) {
    if (columns.owner(b) != columns.mine || rows.owner(b) != rows.mine) continue;
    const int row = rows.indices_before(b) - before, size = rows.size(b);
    for (int q = 0; q < matrices_; ++q, to += size * inner_) {
      copy_block(size, inner_, left(q) + row, ld(), to, static_cast<std::size_t>(size));
    }
  }
}

void PanelExchange::unpack() {
  const BlockCyclic& columns = distribution_.columns;
  const double* from = gathered_.data();
  const int before = columns.indices_before(after_ + 1);
  for (int part = 0; part < distribution_.rows.parts; ++part) {
    for (int b = after_ + 1; b < columns.blocks(); ++b) {
      if (columns.owner(b) != columns.mine || distribution_.rows.owner(b) != part) continue;
      const int column = columns.indices_before(b) - before, size = columns.size(b);
      for (int q = 0; q < matrices_; ++q, from += size * inner_) {
        copy_block(size, inner_, from, static_cast<std::size_t>(size),
                   right_.data() + right_numbers() * static_cast<std::size_t>(q) + column,
                   ld_right());
      }
    }
  }
}

void PanelExchange::scale() {
  for (int q = 0; q < matrices_; ++q) {
    double* column = left(q);
    for (const double factor : scales(q)) {
      for (int i = 0; i < rows_; ++i) column[i] *= factor;
      column += ld();
    }
  }
}

}  // namespace tabane::workloads::slalom
