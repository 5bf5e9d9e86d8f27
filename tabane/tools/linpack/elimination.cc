#include "tabane/tools/linpack/elimination.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/tools/linpack/products.h"
#include "tabane/tools/linpack/row_exchange.h"
#include "tabane/tools/linpack/triangle.h"

namespace tabane::linpack {
namespace {

// Columns that are exchanged, solved and updated together: between two such tiles a rank looks
// after its messages. Each tile packs the panel anew for the product, 1 element copied for 1024
// multiply-adds.
constexpr int kTileColumns = 1024;

class Elimination {
 public:
  Elimination(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix, Panels& panels,
              comm::Steps& steps, const EliminationOptions& options)
      : grid_(grid),
        layout_(layout),
        matrix_(matrix),
        panels_(panels),
        steps_(steps),
        options_(options) {}

  Eliminated run();

 private:
  // Every second panel lies in the same place.
  Panel& panel(int number) { return panels_[static_cast<std::size_t>(number % 2)]; }
  std::optional<comm::Request>& request(int number) {
    return requests_[static_cast<std::size_t>(number % 2)];
  }
  int owner_of(int number) const { return layout_.columns.owner(layout_.first_of(number)); }
  bool is_mine(int number) const { return owner_of(number) == grid_.my_column(); }

  void factorise_panel(int number);
  void begin_broadcast(int number);
  void finish_broadcast(int number);
  void look_after_messages();
  void keep_factors(int number);
  void update(int number, int first, int count);
  void update_tile(Panel& panel, RowExchange* exchange, int first, int count);

  comm::Grid& grid_;
  const Layout& layout_;
  LocalMatrix& matrix_;
  Panels& panels_;
  comm::Steps& steps_;
  EliminationOptions options_;
  std::array<std::optional<comm::Request>, 2> requests_;
  std::vector<double> u_;
  ExchangeRoom room_;
};

// The panel's columns, up to date, move to its own memory: closely packed for the cache and for the
// broadcast.
void Elimination::factorise_panel(int number) {
  Panel& to = panel(number);
  const auto in = steps_.in(kPanel);
  const int column = layout_.columns.count_before(to.first());
  for (int j = 0; j < to.width(); ++j) {
    std::copy_n(matrix_.at(to.first_row(), column + j), to.rows(), to.lower(0, j));
  }
  factorise(grid_, layout_, to, steps_);
}

void Elimination::begin_broadcast(int number) {
  if (grid_.columns() == 1) return;
  const auto in = steps_.in(kBroadcast);
  if (!options_.look_ahead)
    return comm::broadcast(grid_.row(), panel(number).all(), owner_of(number));
  request(number) = comm::ibroadcast(grid_.row(), panel(number).all(), owner_of(number));
}

void Elimination::finish_broadcast(int number) {
  if (!request(number)) return;
  const auto in = steps_.in(kWaiting);
  request(number)->wait();
  request(number).reset();
}

void Elimination::look_after_messages() {
  const auto in = steps_.in(kBroadcast);
  for (auto& pending : requests_) {
    if (pending) pending->test();
  }
}

// The solves that follow need them: they go back to the matrix.
void Elimination::keep_factors(int number) {
  Panel& from = panel(number);
  const int column = layout_.columns.count_before(from.first());
  for (int j = 0; j < from.width(); ++j) {
    std::copy_n(from.lower(0, j), from.rows(), matrix_.at(from.first_row(), column + j));
  }
}

// On m rows and c columns, with panels of width w, of numbers of 8 bytes:
//
//   step       operations    bytes from memory, at least
//   exchange   none          2 lines of 64 w c: one row of each pair lies anywhere
//   solve      w^2 c         16 w c
//   product    2 m w c       16 m c: C is read and written once, so w / 8 operations a byte
void Elimination::update_tile(Panel& from, RowExchange* exchange, int first, int count) {
  double* u = matrix_.at(from.first_row(), first);
  std::ptrdiff_t ld_u = matrix_.ld();
  {
    const auto in = steps_.in(kSwap);
    if (exchange == nullptr) {
      exchange_rows(matrix_, from, first, count);
    } else {
      exchange->run(matrix_, first, count, u_);
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
  subtract_product(from.rows() - above, count, from.width(), from.lower(above, 0), from.ld(), u,
                   ld_u, matrix_.at(from.first_row() + above, first), matrix_.ld());
}

// Local columns [first, end).
void Elimination::update(int number, int first, int end) {
  std::optional<RowExchange> exchange;
  if (grid_.rows() > 1 && first < end) exchange.emplace(grid_, layout_, panel(number), room_);
  for (int column = first; column < end; column += kTileColumns) {
    update_tile(panel(number), exchange ? &*exchange : nullptr, column,
                std::min(kTileColumns, end - column));
    if (column + kTileColumns < end) look_after_messages();
  }
}

// Each panel: where the next one's columns are, they are brought up to date first, factorised and
// sent; then all bring the rest up to date, while the panel travels.
Eliminated Elimination::run() {
  const auto in = steps_.in(kUpdate);
  Eliminated done;
  const int panels = layout_.panels();
  for (int number = 0; number <= panels; ++number) {
    const int last = number - 1;  // the panel whose effect is due
    int column =
        last < 0 ? 0
                 : layout_.columns.count_before(layout_.first_of(last) + layout_.width_of(last));
    if (last >= 0 && !options_.look_ahead) update(last, column, layout_.local_columns);
    if (number < panels) {
      finish_broadcast(number);  // of the panel that was in its place
      panel(number).place(number);
      if (is_mine(number)) {
        if (last >= 0 && options_.look_ahead) {
          update(last, column, column + layout_.width_of(number));
          column += layout_.width_of(number);
        }
        factorise_panel(number);
      }
      begin_broadcast(number);
      if (is_mine(number)) keep_factors(number);
    }
    if (last >= 0 && options_.look_ahead) update(last, column, layout_.local_columns);
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

}  // namespace

Eliminated eliminate_all(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                         Panels& panels, comm::Steps& steps, const EliminationOptions& options) {
  return Elimination(grid, layout, matrix, panels, steps, options).run();
}

}  // namespace tabane::linpack
