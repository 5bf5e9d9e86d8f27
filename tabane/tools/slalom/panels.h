// Panels: how their diagonal blocks are factored, and their way from the column of the grid that
// makes them to all ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/comm/steps.h"
#include "tabane/core/memory.h"
#include "tabane/tools/slalom/setup.h"

namespace tabane::slalom {

// The steps of a solution that are timed.
enum TimedStep {
  kReader,
  kRegion,
  kSetUp,
  kFirstFace,
  kPanel,
  kUpdate,
  kBroadcast,
  kWaiting,
  kSubstitution,
  kGather,
  kStorer,
  kOther,
};

inline comm::Steps make_steps(comm::Comm& comm) {
  return {comm,
          {"reader", "region", "set-up", "first face", "factor panel", "update", "broadcast",
           "waiting", "substitution", "gather", "storer", "other"}};
}

// Room for up to `matrices` panels X of `block` columns. A product X scale X^T, of which a rank has
// some rows and some columns, needs the rows of X for both.
//
//   to whom             what                                  numbers a rank gets
//   its grid row        rows of X that the row of ranks has   inner n / P
//   its grid column     rows of X that are its columns        inner n / Q
class PanelExchange {
 public:
  PanelExchange(comm::Grid& grid, comm::Steps& steps, const Distribution& distribution,
                int matrices);
  static std::size_t bytes(const Distribution& distribution, int matrices);

  // Makes room for panels of `inner` columns with the rows of blocks > after.
  void begin(int after, int inner, int matrices);
  // This rank's rows of panel q, ld() apart: the owner fills them, and scales(q): `inner` numbers.
  double* left(int q) { return left_.data() + panel_numbers() * static_cast<std::size_t>(q); }
  std::span<double> scales(int q);
  // Brings them to all ranks. owner: the column of the grid that filled them. All ranks call it.
  void share(int owner);
  // Multiplies the columns of left(q) by scales(q), and copies them to `kept` if it is not null.
  void scale(int q, double* kept = nullptr, std::size_t ld_kept = 0);

  int rows() const { return rows_; }
  std::size_t ld() const { return static_cast<std::size_t>(std::max(rows_, 1)); }
  // This rank's columns of panel q, as rows, ld_right() apart; not scaled.
  const double* right(int q) const;
  std::size_t ld_right() const { return static_cast<std::size_t>(std::max(columns_, 1)); }

 private:
  std::size_t panel_numbers() const { return ld() * static_cast<std::size_t>(inner_); }
  std::size_t right_numbers() const { return ld_right() * static_cast<std::size_t>(inner_); }
  int shared_rows(int part) const;
  std::span<const double> own_part();
  void take_part(int part, const double* from, std::size_t ld_from);

  comm::Grid& grid_;
  comm::Steps& steps_;
  Distribution distribution_;
  int after_ = -1, inner_ = 0, matrices_ = 0, rows_ = 0, columns_ = 0;
  // left_: the panels, then their scales.
  std::vector<double> left_, right_, packed_, received_;
};

// Replaces the lower part of the symmetric n x n block by L and D: A = L D L^T, L with ones on its
// diagonal, where D is kept. What is above the diagonal is overwritten. No pivots are searched:
// for blocks with a dominant diagonal. space: for its own use. cost: n^3 / 3 operations.
void factor_block(double* a, int n, std::size_t ld, std::vector<double>& space);

}  // namespace tabane::slalom
