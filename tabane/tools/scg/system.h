// A rank's part of the scaled system: A with a unit diagonal, and its vectors.
#pragma once

#include "tabane/tools/scg/block.h"
#include "tabane/tools/scg/kernels.h"
#include "tabane/tools/scg/problem.h"

namespace tabane::scg {

// With D the diagonal of A, D^-1/2 A D^-1/2 y = D^-1/2 b and u = D^-1/2 y.
class System {
 public:
  // Sets r to the right side, p and x to 0.
  System(const Problem& problem, const Block& block);

  Extent extent() const { return {block_.rows, block_.columns, p.stride()}; }
  Couplings couplings() const {
    if (!east.exists()) return {};
    return {east.row(0), south.row(0)};
  }
  const Block& block() const { return block_; }

  // Multiplies r, the right side, by a power of two, the same on all ranks: so that no square of
  // its numbers, however large or small they are, overflows or is lost.
  void normalise(double factor);
  double factor() const { return factor_; }

  // x := D^-1/2 x without the factor, so that x is u.
  void unscale();

  Field p, r, x;
  Field east, south;  // couplings, also those of the frame; they do not exist if all are 1/4

 private:
  double scale_at(std::ptrdiff_t row, std::ptrdiff_t column) const;
  void fill_couplings();
  void fill_right_side();

  const Problem& problem_;
  Block block_;
  double uniform_scale_ = 0;  // 0: not uniform
  double factor_ = 1;
};

}  // namespace tabane::scg
