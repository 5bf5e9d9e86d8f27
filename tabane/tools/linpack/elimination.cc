#include "tabane/tools/linpack/elimination.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/solver/model.h"

namespace tabane::linpack {
namespace {

// Memory that an exchange uses, kept from one to the next.
struct ExchangeRoom {
  std::vector<double> up, all_up, down, all_down;
};

// The exchange of rows, as a panel's pivots chose them, in the columns right of it, where the rows
// are on several rows of ranks: brings those of the diagonal block to all ranks of the column, and
// those that were there to where these came from.
class RowExchange {
 public:
  // The exchanges one after the other make a permutation of the rows that they touch. A row below
  // the diagonal block gets one of the block's: an exchange brings nothing to it but what is in row
  // first + i in step i, and no row below comes there before.
  RowExchange(comm::Grid& grid, const Layout& layout, const Panel& panel, ExchangeRoom& room)
      : grid_(grid),
        room_(room),
        width_(panel.width()),
        diagonal_(layout.rows.owner_of_index(panel.first())),
        into_top_(grid.rows()),
        from_top_(grid.rows()) {
    const int top = panel.first(), end = top + panel.width();
    std::map<int, int> source;  // by row: the row whose values come there
    for (int row = top; row < end; ++row) source[row] = row;
    for (int i = 0; i < panel.width(); ++i) source.try_emplace(panel.pivot(i), panel.pivot(i));
    for (int i = 0; i < panel.width(); ++i) std::swap(source[top + i], source[panel.pivot(i)]);
    const auto rank_of = [&](int row) {
      return static_cast<std::size_t>(layout.rows.owner_of_index(row));
    };
    const auto local = [&](int row) {
      return layout.rows.of(layout.rows.owner_of_index(row)).count_before(row);
    };
    for (const auto& [to, from] : source) {
      if (to < end) {
        into_top_[rank_of(from)].push_back({local(from), to - top, local(to)});
      } else if (from != to) {
        from_top_[rank_of(to)].push_back({local(to), from - top, local(from)});
      }
    }
  }

  // In local columns [first, first + count). u: width x count, column by column: gets the rows of
  // the diagonal block; the matrix keeps others there. All ranks of the column call it.
  // cost: width count numbers to every rank, and as many at most from the diagonal's.
  // The rows that go to the diagonal block are read before others take their places.
  void run(LocalMatrix& matrix, int first, int count, std::vector<double>& u) {
    const auto me = static_cast<std::size_t>(grid_.my_row());
    std::size_t moved = into_top_[me].size() + from_top_[me].size();
    if (grid_.my_row() == diagonal_) {
      for (const auto& moves : from_top_) moved += moves.size();
    }
    grid_.all().compute(solver::lines(1.0 * static_cast<double>(moved) * count));
    grid_.all().compute(solver::copies(static_cast<double>(width_) * count));
    gather_top(matrix, first, count, u);
    scatter_rest(matrix, first, count);
  }

  // The same, one row after the other.
  void run_by_rows(LocalMatrix& matrix, int first, int count, std::vector<double>& u) {
    comm::Comm& column = grid_.column();
    const auto columns = static_cast<std::size_t>(count);
    std::vector<double>& row = room_.up;
    row.resize(columns);
    u.resize(width_ * columns);
    for (int rank = 0; rank < column.size(); ++rank) {
      for (const Move& move : into_top_[rank]) {
        if (rank == column.rank()) {
          for (int j = 0; j < count; ++j) row[j] = *matrix.at(move.local, first + j);
        }
        comm::broadcast(column, row, rank);
        for (std::size_t j = 0; j < columns; ++j) u[j * width_ + move.top] = row[j];
      }
    }
    for (int rank = 0; rank < column.size(); ++rank) {
      const bool has = column.rank() == diagonal_, gets = column.rank() == rank;
      if (!has && !gets) continue;
      for (const Move& move : from_top_[rank]) {
        if (has) {
          for (int j = 0; j < count; ++j) row[j] = *matrix.at(move.local_top, first + j);
        }
        if (has && !gets) column.send(rank, row);
        if (!gets) continue;
        if (!has) column.recv(diagonal_, row);
        for (int j = 0; j < count; ++j) *matrix.at(move.local, first + j) = row[j];
      }
    }
  }

 private:
  struct Move {
    int local;      // row of the rank that has it
    int top;        // row of the diagonal block that it becomes or was
    int local_top;  // and which one that is of the diagonal's rank
  };
  using Moves = std::vector<std::vector<Move>>;

  std::vector<std::size_t> counts_of(const Moves& moves, int columns) const {
    std::vector<std::size_t> counts;
    for (const auto& part : moves) counts.push_back(part.size() * columns);
    return counts;
  }

  void gather_top(LocalMatrix& matrix, int first, int count, std::vector<double>& u) {
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

  void scatter_rest(LocalMatrix& matrix, int first, int count) {
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

  comm::Grid& grid_;
  ExchangeRoom& room_;
  std::size_t width_;
  int diagonal_;
  Moves into_top_;  // by the rank that has the row
  Moves from_top_;  // by the rank that gets it
};

// Takes kColumns columns in turn, so that more of their lines are on their way from memory at
// once.
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

// The exchange where all rows are on one row of ranks: in place, in local columns
// [first, first + count).
// cost: per column 2 width elements, each on a cache line of its own.
void exchange_rows(LocalMatrix& matrix, const Panel& panel, int first, int count) {
  constexpr int kColumns = 4;
  std::vector<int> pivots(panel.width());
  for (int i = 0; i < panel.width(); ++i) pivots[i] = panel.pivot(i);
  const int end = first + count;
  int column = first;
  for (; column + kColumns <= end; column += kColumns) {
    exchange_in_columns<kColumns>(matrix.at(0, column), matrix.ld(), pivots, panel.first());
  }
  for (; column < end; ++column) {
    exchange_in_columns<1>(matrix.at(0, column), matrix.ld(), pivots, panel.first());
  }
}

// Columns that are exchanged, solved and updated together: between two such tiles a rank looks
// after its messages. Each tile packs the panel again for the product, 1 element copied for 1024
// multiply-adds.
constexpr int kTileColumns = 1024;

class Elimination {
 public:
  Elimination(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix, Panels& panels,
              comm::Steps& steps, Messages messages)
      : grid_(grid),
        layout_(layout),
        matrix_(matrix),
        panels_(panels),
        steps_(steps),
        messages_(messages) {}

  // For each panel, the ranks with the next one's columns update these first, factorise and send
  // them; then all ranks update the rest, while the panel is on its way.
  Eliminated run() {
    const auto in = steps_.in(kUpdate);
    Eliminated done;
    const int panels = layout_.panels();
    const bool look_ahead = messages_ == Messages::look_ahead;
    for (int number = 0; number <= panels; ++number) {
      const int last = number - 1;  // the panel whose effect is due
      int column =
          last < 0 ? 0
                   : layout_.columns.count_before(layout_.first_of(last) + layout_.width_of(last));
      if (last >= 0 && !look_ahead) update(last, column, layout_.local_columns);
      if (number < panels) {
        finish_broadcast(number);  // of the panel that was in its place
        panel(number).place(number);
        if (is_mine(number)) {
          if (last >= 0 && look_ahead) {
            update(last, column, column + layout_.width_of(number));
            column += layout_.width_of(number);
          }
          factorise_panel(number);
        }
        begin_broadcast(number);
        if (is_mine(number)) keep_factors(number);
      }
      if (last >= 0 && look_ahead) update(last, column, layout_.local_columns);
      if (number < panels) {
        if (!is_mine(number)) finish_broadcast(number);
        if (done.defect < 0) done.defect = panel(number).defect();
        for (int i = 0; i < panel(number).width(); ++i) {
          done.pivots.push_back(panel(number).pivot(i));
        }
      }
    }
    for (int number = 0; number < 2; ++number) finish_broadcast(number);
    return done;
  }

 private:
  // Every second panel uses the same memory.
  Panel& panel(int number) { return panels_[number % 2]; }
  std::optional<comm::Request>& request(int number) { return requests_[number % 2]; }
  int owner_of(int number) const {
    return layout_.columns.owner_of_index(layout_.first_of(number));
  }
  bool is_mine(int number) const { return owner_of(number) == grid_.my_column(); }

  // Moves the panel's columns, which are up to date, to its own memory: closely packed for the
  // cache and for the broadcast. Factorises them there.
  void factorise_panel(int number) {
    Panel& to = panel(number);
    const auto in = steps_.in(kPanel);
    const int column = layout_.columns.count_before(to.first());
    for (int j = 0; j < to.width(); ++j) {
      std::copy_n(matrix_.at(to.first_row(), column + j), to.rows(), to.lower(0, j));
    }
    grid_.all().compute(solver::copies(1.0 * to.rows() * to.width()));
    factorise(grid_, layout_, to, steps_);
  }

  void begin_broadcast(int number) {
    if (grid_.columns() == 1) return;
    const auto in = steps_.in(kBroadcast);
    std::span<double> all = panel(number).all();
    if (messages_ == Messages::plain) return comm::broadcast(grid_.row(), all, owner_of(number));
    if (messages_ == Messages::by_rows) {
      const auto width = static_cast<std::size_t>(panel(number).width());
      for (const std::size_t column = (all.size() + width - 1) / width; !all.empty();) {
        const std::span<double> part = all.first(std::min(column, all.size()));
        comm::broadcast(grid_.row(), part, owner_of(number));
        all = all.subspan(part.size());
      }
      return;
    }
    request(number) = comm::ibroadcast(grid_.row(), panel(number).all(), owner_of(number));
  }

  void finish_broadcast(int number) {
    if (!request(number)) return;
    const auto in = steps_.in(kWaiting);
    request(number)->wait();
    request(number).reset();
  }

  void look_after_messages() {
    const auto in = steps_.in(kBroadcast);
    for (auto& pending : requests_) {
      if (pending) pending->test();
    }
  }

  // Copies the factors back to the matrix, where the solves that follow need them.
  void keep_factors(int number) {
    Panel& from = panel(number);
    const int column = layout_.columns.count_before(from.first());
    for (int j = 0; j < from.width(); ++j) {
      std::copy_n(from.lower(0, j), from.rows(), matrix_.at(from.first_row(), column + j));
    }
    grid_.all().compute(solver::copies(1.0 * from.rows() * from.width()));
  }

  // Updates local columns [first, end).
  void update(int number, int first, int end) {
    std::optional<RowExchange> exchange;
    if (grid_.rows() > 1 && first < end) exchange.emplace(grid_, layout_, panel(number), room_);
    for (int column = first; column < end; column += kTileColumns) {
      update_tile(panel(number), exchange ? &*exchange : nullptr, column,
                  std::min(kTileColumns, end - column));
      if (column + kTileColumns < end) look_after_messages();
    }
  }

  // cost: on m rows and c columns, with panels of width w, of numbers of 8 bytes:
  //
  //   step       operations    bytes from memory, at least
  //   exchange   none          2 lines of 64 w c: one row of each pair is anywhere
  //   solve      w^2 c         16 w c
  //   product    2 m w c       16 m c: C is read and written once, so w / 8 operations a byte
  void update_tile(Panel& from, RowExchange* exchange, int first, int count) {
    double* u = matrix_.at(from.first_row(), first);
    std::ptrdiff_t ld_u = matrix_.ld();
    {
      const auto in = steps_.in(kSwap);
      if (exchange == nullptr) {
        exchange_rows(matrix_, from, first, count);
        grid_.all().compute(solver::lines(2.0 * from.width() * count));
      } else {
        messages_ == Messages::by_rows ? exchange->run_by_rows(matrix_, first, count, u_)
                                       : exchange->run(matrix_, first, count, u_);
        u = u_.data();
        ld_u = from.width();
      }
    }
    const auto in = steps_.in(kUpdate);
    solve_unit_lower(from.width(), count, from.top(0, 0), from.ld_top(), u, ld_u);
    if (exchange != nullptr && from.has_diagonal()) {
      for (int j = 0; j < count; ++j) {
        std::copy_n(u + j * ld_u, from.width(), matrix_.at(from.first_row(), first + j));
      }
    }
    const int above = from.rows_of_top(from.width());
    grid_.all().compute(solver::triangle(from.width(), count));
    grid_.all().compute(solver::product(from.rows() - above, count, from.width()));
    subtract_product(from.rows() - above, count, from.width(), from.lower(above, 0), from.ld(), u,
                     ld_u, matrix_.at(from.first_row() + above, first), matrix_.ld());
  }

  comm::Grid& grid_;
  const Layout& layout_;
  LocalMatrix& matrix_;
  Panels& panels_;
  comm::Steps& steps_;
  Messages messages_;
  std::array<std::optional<comm::Request>, 2> requests_;
  std::vector<double> u_;
  ExchangeRoom room_;
};

}  // namespace

Eliminated eliminate_all(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                         Panels& panels, comm::Steps& steps, Messages messages) {
  return Elimination(grid, layout, matrix, panels, steps, messages).run();
}

}  // namespace tabane::linpack
