// Gaussian elimination by blocks of columns, with partial pivoting.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/comm/steps.h"
#include "tabane/tools/linpack/kernels.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {

// The steps of a solution that are timed.
enum TimedStep { kPanel, kPivot, kSwap, kBroadcast, kWaiting, kUpdate, kSubstitution };

inline comm::Steps make_steps(comm::Comm& comm) {
  return {comm, {"panel", "pivot", "swap", "broadcast", "waiting", "update", "substitution"}};
}

// A panel: some columns of the matrix from the diagonal downwards, which one column of ranks
// factorises by itself and then hands to the others along the rows of ranks. What the ranks of a
// row have of it is in one piece, so that one broadcast carries it:
//   lower   rows x width    this row's part, from the diagonal downwards
//   top     width x width   the rows of the diagonal block: L below the diagonal, U from it on; on
//                           the row that has them, they are the first rows of `lower`
//   pivots  width           the row that was exchanged with row first + i in step i
//   defect  1               the first column that has no pivot, or -1
class Panel {
 public:
  // Takes memory for any panel of the matrix, and touches it, so that this costs no time later.
  explicit Panel(const Layout& layout);

  // Makes this the given panel of the matrix; its numbers are not set yet.
  void place(int number);

  int first() const { return first_; }  // column, and row of the diagonal
  int width() const { return width_; }
  int rows() const { return rows_; }
  int first_row() const { return first_row_; }  // local
  bool has_diagonal() const { return has_diagonal_; }
  // Rows of `lower` that belong to the first `done` rows of the diagonal block.
  int rows_of_top(int done) const { return has_diagonal_ ? done : 0; }

  std::ptrdiff_t ld() const { return ld_; }
  double* lower(int row, int column) { return lower_ + row + column * ld_; }
  std::ptrdiff_t ld_top() const { return ld_top_; }
  double* top(int row, int column) { return top_ + row + column * ld_top_; }
  int pivot(int i) const { return static_cast<int>(pivots_[i]); }
  void set_pivot(int i, int row) { pivots_[i] = row; }
  int defect() const { return static_cast<int>(pivots_[width_]); }
  void set_defect(int column) { pivots_[width_] = column; }
  std::span<double> all() { return {lower_, static_cast<std::size_t>(doubles_)}; }

 private:
  Layout layout_;
  int first_ = 0, width_ = 0, rows_ = 0, first_row_ = 0;
  bool has_diagonal_ = false;
  std::ptrdiff_t ld_ = 8, ld_top_ = 8, doubles_ = 0;
  core::Region memory_;
  double *lower_ = nullptr, *top_ = nullptr, *pivots_ = nullptr;
};

// Factorises a panel by halves: the left half, then its effect on the right half as a product of
// matrices, then the right half. All ranks of the column that has it call it.
// cost: rows width^2 operations; with several rows of ranks 2 messages to all and one more a
// column.
void factorise(comm::Grid& grid, const Layout& layout, Panel& panel, comm::Steps& steps);

// The panel in use and the next one.
using Panels = std::array<Panel, 2>;

// How panels and rows reach the other ranks. look_ahead: the next panel is factorised and sent
// during this one's update. plain: after it, by a blocking broadcast. by_rows: the same, but each
// column of a panel by a broadcast of its own, and so each pivot row, while a message takes the row
// that was in its place away; programs were often written so when messages were cheap.
enum class Messages { look_ahead, plain, by_rows };
inline constexpr std::array kAllMessages{Messages::look_ahead, Messages::plain, Messages::by_rows};

struct Eliminated {
  int defect = -1;  // the first column that has no pivot, as all its elements are zero, or -1
  std::vector<int> pivots;  // the row that was exchanged with row i in step i
};

// Replaces A by the factors of A = P1 L1 P2 L2 ... U, a P and an L for each panel, and b by
// L^-1 P b: U from the diagonal on and the columns of L, without the ones on their
// diagonals, below it. Returns the same on all ranks, which all call it.
Eliminated eliminate_all(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                         Panels& panels, comm::Steps& steps,
                         Messages messages = Messages::look_ahead);

}  // namespace tabane::linpack
