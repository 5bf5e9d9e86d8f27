#include "tabane/tools/linpack/row_exchange.h"

#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "tabane/comm/collectives.h"

namespace tabane::linpack {

namespace {

// kColumns columns take turns, so that more lines of them are on their way from memory at once.
template <int kColumns>
void exchange_in_columns(double* values, std::ptrdiff_t ld, std::span<const int> pivots, int top) {
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    double* const to = values + top + static_cast<std::ptrdiff_t>(i);
    double* const from = values + pivots[i];
    for (int column = 0; column < kColumns; ++column) {
      std::swap(to[column * ld], from[column * ld]);
    }
  }
}

}  // namespace

void exchange_rows(LocalMatrix& matrix, const Panel& panel, int first, int count) {
  constexpr int kColumns = 4;
  std::vector<int> pivots(static_cast<std::size_t>(panel.width()));
  for (int i = 0; i < panel.width(); ++i) pivots[static_cast<std::size_t>(i)] = panel.pivot(i);
  const int end = first + count;
  int column = first;
  for (; column + kColumns <= end; column += kColumns) {
    exchange_in_columns<kColumns>(matrix.at(0, column), matrix.ld(), pivots, panel.first());
  }
  for (; column < end; ++column) {
    exchange_in_columns<1>(matrix.at(0, column), matrix.ld(), pivots, panel.first());
  }
}

// The exchanges one after the other make a permutation of the rows that they touch. A row below the
// diagonal block gets one of the block's: an exchange brings nothing to it but what lies in row
// first + i in step i, and no row below comes there before.
RowExchange::RowExchange(comm::Grid& grid, const Layout& layout, const Panel& panel,
                         ExchangeRoom& room)
    : grid_(grid),
      room_(room),
      width_(static_cast<std::size_t>(panel.width())),
      diagonal_(layout.rows.owner(panel.first())),
      into_top_(static_cast<std::size_t>(grid.rows())),
      from_top_(static_cast<std::size_t>(grid.rows())) {
  const int top = panel.first(), end = top + panel.width();
  std::map<int, int> source;  // by row: the row whose values come there
  for (int row = top; row < end; ++row) source[row] = row;
  for (int i = 0; i < panel.width(); ++i) source.try_emplace(panel.pivot(i), panel.pivot(i));
  for (int i = 0; i < panel.width(); ++i) std::swap(source[top + i], source[panel.pivot(i)]);
  const auto rank_of = [&](int row) { return static_cast<std::size_t>(layout.rows.owner(row)); };
  const auto local = [&](int row) {
    return BlockCyclic{layout.block, grid.rows(), layout.rows.owner(row)}.count_before(row);
  };
  for (const auto& [to, from] : source) {
    if (to < end) {
      into_top_[rank_of(from)].push_back({local(from), to - top, local(to)});
    } else if (from != to) {
      from_top_[rank_of(to)].push_back({local(to), from - top, local(from)});
    }
  }
}

std::vector<std::size_t> RowExchange::counts_of(const Moves& moves, int columns) const {
  std::vector<std::size_t> counts;
  for (const auto& part : moves) counts.push_back(part.size() * static_cast<std::size_t>(columns));
  return counts;
}

void RowExchange::gather_top(LocalMatrix& matrix, int first, int count, std::vector<double>& u) {
  const std::vector<std::size_t> counts = counts_of(into_top_, count);
  const auto me = static_cast<std::size_t>(grid_.my_row());
  room_.up.resize(counts[me]);
  double* next = room_.up.data();
  for (int column = first; column < first + count; ++column) {
    const double* const values = matrix.at(0, column);
    for (const Move& move : into_top_[me]) *next++ = values[move.local];
  }
  u.resize(width_ * static_cast<std::size_t>(count));
  room_.all_up.resize(u.size());
  comm::all_gather_varying(grid_.column(), room_.up, room_.all_up, counts);
  const double* from = room_.all_up.data();
  for (const auto& moves : into_top_) {
    double* const end = u.data() + u.size();
    for (double* to = u.data(); to < end; to += width_) {
      for (const Move& move : moves) to[move.top] = *from++;
    }
  }
}

void RowExchange::scatter_rest(LocalMatrix& matrix, int first, int count) {
  const std::vector<std::size_t> counts = counts_of(from_top_, count);
  const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (all == 0) return;
  if (grid_.my_row() == diagonal_) {
    room_.all_down.resize(all);
    double* next = room_.all_down.data();
    for (const auto& moves : from_top_) {
      for (int column = first; column < first + count; ++column) {
        const double* const values = matrix.at(0, column);
        for (const Move& move : moves) *next++ = values[move.local_top];
      }
    }
  }
  const auto me = static_cast<std::size_t>(grid_.my_row());
  room_.down.resize(counts[me]);
  comm::scatter_varying(grid_.column(), room_.all_down, counts, room_.down, diagonal_);
  const double* from = room_.down.data();
  for (int column = first; column < first + count; ++column) {
    double* const values = matrix.at(0, column);
    for (const Move& move : from_top_[me]) values[move.local] = *from++;
  }
}

// The rows that go to the diagonal block are read before others take their places.
void RowExchange::run(LocalMatrix& matrix, int first, int count, std::vector<double>& u) {
  gather_top(matrix, first, count, u);
  scatter_rest(matrix, first, count);
}

}  // namespace tabane::linpack
