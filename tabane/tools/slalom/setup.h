// The couplings of all patches, each computed by the rank that keeps it, and the sums of their
// rows.
#pragma once

#include <functional>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/core/memory.h"
#include "tabane/tools/slalom/couplings.h"
#include "tabane/tools/slalom/distribution.h"
#include "tabane/tools/slalom/lower_part.h"

namespace tabane::slalom {

// Couplings of patches [row, row + rows) with [column, column + columns), which are no later ones.
struct CouplingBlock {
  int row, rows, column, columns;
  double* numbers;
  std::size_t ld;
  bool diagonal() const { return row == column; }
};

// Where a block is to be written: i, a block of rows; j, a block of columns, of the first face or
// of the rest.
struct BlockPlace {
  double* numbers;
  std::size_t ld;
};
using PlaceOf = std::function<BlockPlace(bool first_face, int i, int j)>;

// Computes the blocks of this rank, and visits each.
void for_each_block(const Geometry& geometry, const Region& region,
                    const Distribution& distribution, const PlaceOf& place_of,
                    const std::function<void(const CouplingBlock&)>& visit);

// What a rank keeps.
class Couplings {
 public:
  explicit Couplings(const Distribution& distribution);
  static std::size_t bytes(const Distribution& distribution);

  // All ranks of `all` call it. cost: see couplings.h, shared among the ranks.
  void compute(const Geometry& geometry, const Region& region, comm::Comm& all);

  const Distribution& distribution() const { return distribution_; }
  // With the patches of the first face: this rank's columns of those, its rows of all others.
  double* first() const { return reinterpret_cast<double*>(region_.data()); }
  std::size_t ld_first() const { return ld_first_; }
  LowerPart& rest() { return rest_; }
  // Row sums of all patches, the same on all ranks.
  const std::vector<double>& sums() const { return sums_; }

 private:
  Distribution distribution_;
  std::size_t ld_first_;
  core::Region region_;
  LowerPart rest_;
  std::vector<double> sums_;
};

// The largest deviation of a row sum from 8 pi times the patch's area, which it is, in shares of
// the sum: what goes wrong in a coupling or is forgotten shows here.
double worst_row_sum(const Region& region, const std::vector<double>& sums);
inline constexpr double kRowSumTolerance = 0.5e-9;

}  // namespace tabane::slalom
