#include "tabane/workloads/linpack/row_exchange.h"

#include <map>
#include <span>
#include <utility>

#include "tabane/comm/collectives.h"

namespace tabane::workloads::linpack {

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
RowExchange::RowExchange(comm::Grid& grid, const Layout& layout, const Panel& panel)
    : grid_(grid),
      layout_(layout),
      width_(panel.width()),
      first_row_(panel.first()),
      diagonal_(layout.rows.owner(panel.first())),
      into_top_(static_cast<std::size_t>(grid.rows())),
      from_top_(static_cast<std::size_t>(grid.rows())) {
  std::map<int, int> source;  // by row: the row whose values come there
  for (int i = 0; i < width_; ++i) source[first_row_ + i] = first_row_ + i;
  for (int i = 0; i < width_; ++i) source.try_emplace(panel.pivot(i), panel.pivot(i));
  for (int i = 0; i < width_; ++i) std::swap(source[first_row_ + i], source[panel.pivot(i)]);
  for (const auto& [to, from] : source) {
    if (to < first_row_ + width_) {
      into_top_[static_cast<std::size_t>(layout.rows.owner(from))].push_back({from, to});
    } else if (from != to) {
      from_top_[static_cast<std::size_t>(layout.rows.owner(to))].push_back({from, to});
    }
  }
}

std::vector<double> RowExchange::pack(LocalMatrix& matrix, const std::vector<Move>& moves,
                                      int first, int count) const {
  std::vector<double> values;
  values.reserve(moves.size() * static_cast<std::size_t>(count));
  for (int column = first; column < first + count; ++column) {
    for (const Move& move : moves) {
      values.push_back(*matrix.at(layout_.rows.count_before(move.from), column));
    }
  }
  return values;
}

void RowExchange::run(LocalMatrix& matrix, int first, int count, std::vector<double>& u) {
  const auto ranks = static_cast<std::size_t>(grid_.rows()),
             me = static_cast<std::size_t>(grid_.my_row()),
             columns = static_cast<std::size_t>(count);
  std::vector<std::size_t> up(ranks), down(ranks);
  std::size_t all_down = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    up[rank] = into_top_[rank].size() * columns;
    down[rank] = from_top_[rank].size() * columns;
    all_down += down[rank];
  }
  const std::vector<double> own = pack(matrix, into_top_[me], first, count);
  std::vector<double> all(static_cast<std::size_t>(width_) * columns), leaving, arrived(down[me]);
  comm::all_gather_varying(grid_.column(), own, all, up);
  if (static_cast<int>(me) == diagonal_) {
    for (const auto& moves : from_top_) {
      const std::vector<double> part = pack(matrix, moves, first, count);
      leaving.insert(leaving.end(), part.begin(), part.end());
    }
  }
  if (all_down > 0) comm::scatter_varying(grid_.column(), leaving, down, arrived, diagonal_);
  const double* next = arrived.data();
  for (int column = first; column < first + count; ++column) {
    for (const Move& move : from_top_[me]) {
      *matrix.at(layout_.rows.count_before(move.to), column) = *next++;
    }
  }
  u.resize(all.size());
  next = all.data();
  for (const auto& moves : into_top_) {
    for (std::size_t column = 0; column < columns; ++column) {
      for (const Move& move : moves) {
        u[column * static_cast<std::size_t>(width_) +
          static_cast<std::size_t>(move.to - first_row_)] = *next++;
      }
    }
  }
}

}  // namespace tabane::workloads::linpack
