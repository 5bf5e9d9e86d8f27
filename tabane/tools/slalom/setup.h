// The set-up: which rank has which part of the couplings, and how it computes that part.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/comm/grid.h"
#include "tabane/core/memory.h"
#include "tabane/solver/block_cyclic.h"
#include "tabane/tools/slalom/couplings.h"
#include "tabane/tools/slalom/geometry.h"

namespace tabane::slalom {

// The patches of the first face, between which there is no coupling, are eliminated first; what
// remains is a symmetric matrix, block-cyclic over the grid.
struct Distribution {
  int first_face = 0;                 // patches 0 … first_face - 1
  solver::BlockCyclic rows, columns;  // of the patches behind them
  solver::BlockCyclic first;          // columns of the first face

  int patches() const { return first_face + rows.count; }
};

// Returns a grid as square as possible; more rows than columns, since the ranks of a column of the
// grid share the work on a panel, for which other columns wait.
comm::GridShape grid_of(int ranks, comm::GridShape wanted);

// Returns the columns of a panel: enough for the rate of matrix products, few enough that the
// ranks' shares differ little.
int default_block(int unknowns, comm::GridShape grid);

Distribution distribute(int first_face, int patches, comm::GridShape grid, int my_row,
                        int my_column, int block);

// What a rank keeps of the lower part of a symmetric matrix that is block-cyclic over a grid:
// blocks (I, J) with I >= J. Columns are stored in strips of about 1000: those of a strip begin at
// the same row, that of its first block, so that one product serves the whole strip. What that
// stores besides the lower part is 1000 / n of it.
class LowerPart {
 public:
  struct Strip {
    int first = 0, blocks = 0;  // of this rank's column blocks
    int row = 0, rows = 0;      // of this rank's rows
    int column = 0;             // of this rank's columns
    std::size_t ld = 0, offset = 0;
  };

  // rows and columns deal out the same indices. The numbers are 0 and not touched yet.
  LowerPart(const solver::BlockCyclic& rows, const solver::BlockCyclic& columns);

  static std::vector<Strip> strips_of(const solver::BlockCyclic& rows,
                                      const solver::BlockCyclic& columns);
  // What the constructor takes, in bytes.
  static std::size_t bytes(const solver::BlockCyclic& rows, const solver::BlockCyclic& columns);

  const solver::BlockCyclic& rows() const { return rows_; }
  const solver::BlockCyclic& columns() const { return columns_; }
  double* numbers() const { return reinterpret_cast<double*>(region_.data()); }
  std::size_t size() const { return size_; }

  // Returns where row block i >= j begins in column block j of this rank, both as numbers of all.
  // If i is another rank's, that is where this rank's next block begins. The rank's next rows
  // follow.
  double* at(int i, int j) const;
  std::size_t ld(int j) const { return strip_of(j).ld; }

  // Subtracts left right^T from the blocks (I, J) with J > after: left has this rank's rows of
  // blocks > after, ld_left apart, right its columns of blocks > after. factor: -1, or another
  // factor of the product that is added. Returns what it has computed.
  comm::Work add_product(int after, double factor, int inner, const double* left,
                         std::size_t ld_left, const double* right, std::size_t ld_right);

 private:
  struct Product;

  const Strip& strip_of(int j) const;
  double add_wedge(const Product& product, const Strip& strip, int first, int last, int row_end);

  solver::BlockCyclic rows_, columns_;
  std::vector<Strip> strips_;
  std::size_t size_ = 0;
  core::Region region_;
};

// Couplings of patches [row, row + rows) with [column, column + columns), which are no later ones.
struct CouplingBlock {
  int row, rows, column, columns;
  double* numbers;
  std::size_t ld;
  bool diagonal() const { return row == column; }
};

// Where a block is to be written.
struct BlockStorage {
  double* numbers;
  std::size_t ld;
};
// i: a block of rows; j: a block of columns, of the first face or of the rest.
using StorageOf = std::function<BlockStorage(bool first_face, int i, int j)>;

// Computes the blocks of this rank, and visits each.
void for_each_block(const Geometry& geometry, const Region& region,
                    const Distribution& distribution, const StorageOf& storage_of,
                    const std::function<void(const CouplingBlock&)>& visit);

// A rank's part of the couplings of all patches, and the sums of their rows.
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

// Returns the largest deviation of a row sum from 8 pi times the patch's area, in shares of the
// sum: it shows a wrong or missing coupling.
double worst_row_sum(const Region& region, const std::vector<double>& sums);
inline constexpr double kRowSumTolerance = 0.5e-9;

}  // namespace tabane::slalom
