// The three systems M^q = C - diag(S / rho^q), factored on the grid of ranks.
//
// They differ on their diagonals alone, but that makes all that follows different, too, except
// the elimination of the first face: its diagonal block is D = -diag(S / rho), and in C21 D^-1 C12
// rho, the same for all of a face, is a factor. So that product is made once for all colours:
//
//   step                          operations done     as the benchmark counts
//   first face, f of n patches    (n - f)^2 f         3 (n - f)^2 f
//   the rest                      (n - f)^3           (n - f)^3
//
// Where n = 5 f, as in the benchmark's box, 0.64 n^3 are done and 0.90 n^3 counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/comm/steps.h"
#include "tabane/core/memory.h"
#include "tabane/tools/slalom/setup.h"

namespace tabane::slalom {

// ---- the steps of a solution that are timed, of which panels and factors are some ----

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

// ---- panels: their way from the column of the grid that makes them to all ranks ----

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
  // factor left(q) right(q)^T.
  LowerPart::Product product(int q, double factor) {
    return {after_, inner_, factor, left(q), ld(), right(q), ld_right()};
  }

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

// ---- factors ----

// The factors of what remains of the systems after the first face: L below the diagonal, D on it.
class LdlFactors {
 public:
  // Takes the memory that the two matrices need besides the couplings'.
  explicit LdlFactors(Couplings& couplings);
  static std::size_t bytes(const Distribution& distribution);

  // All ranks call it. The couplings but those of the first face are overwritten.
  void compute(const Geometry& geometry, const Region& region, comm::Grid& grid,
               comm::Steps& steps);

  const Distribution& distribution() const { return couplings_.distribution(); }
  LowerPart& of(int colour);

 private:
  void eliminate_first_face(PanelExchange& panels, comm::Grid& grid, comm::Steps& steps);
  void make_systems(const Geometry& geometry, const Region& region);
  void factor_panel(int k, PanelExchange& panels, comm::Grid& grid, comm::Steps& steps);
  void keep_panel(int k, PanelExchange& panels);

  Couplings& couplings_;
  std::array<LowerPart, kColours - 1> others_;
  std::vector<double> diagonal_, space_;
};

// Solves the three systems by their factors. Returns on rank 0 the radiosities of all patches in
// red, then those in green and blue; nothing elsewhere. All ranks call it. cost: the factors are
// read twice, 4 operations a number.
std::vector<double> substitute(const Geometry& geometry, const Region& region, Couplings& couplings,
                               LdlFactors& factors, comm::Grid& grid, comm::Steps& steps);

}  // namespace tabane::slalom
