// The set-up: which rank has which part of the couplings, and how it computes that part.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/comm/grid.h"
#include "tabane/core/memory.h"
#include "tabane/solver/block_cyclic.h"
#include "tabane/tools/slalom/geometry.h"

namespace tabane::slalom {

// ---- couplings ----
//
// C_ij = 8 pi A_i F_ij between patches of a box: how much of the light that leaves one
// patch reaches the other, times its area.
//
// They are differences of a potential at the corners of the two patches, 16 terms each. Patches of
// a column share their edges, so the potential is computed once per pair of edges, 4 terms, and not
// once per corner:
//
//   pairs of patches            terms per pair   functions per term
//   on opposite faces           4 (instead of 16)   2 atan, 1 log
//   on faces with an edge       4 (instead of 16)   1 atan, 1 log

// Patches [first, first + count) of one face, with the edges between them.
struct EdgeRun {
  // A part of a column: `patches` patches from number `patch` of the run on, whose edges begin at
  // number `edge`; there is one edge more.
  struct Segment {
    int patch, patches, edge;
  };
  int face = 0, first = 0, count = 0;
  std::vector<Segment> segments;
  // By edge: its h, and w of both sides of its column. With room for a vector at the end.
  std::vector<double> h, w0, w1;
  int edges = 0;
};

// Cuts patches [first, first + count) into runs, face by face.
std::vector<EdgeRun> edge_runs(const Region& region, int first, int count);

// Space for one thread's work.
struct CouplingSpace {
  std::vector<double> previous, next;
};

// Writes the couplings of the runs' patches: those of `rows` down the column, those of `columns`
// one column after the other, `ld` numbers apart. 0 for patches of one face.
void fill_couplings(const Geometry& geometry, const EdgeRun& rows, const EdgeRun& columns,
                    double* block, std::size_t ld, CouplingSpace& space);

// ---- parts of ranks ----

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

  // factor left right^T, for the blocks (I, J) with J > after: left has this rank's rows of blocks
  // > after, ld_left apart, right its columns of blocks > after.
  struct Product {
    int after, inner;
    double factor;
    const double* left;
    std::size_t ld_left;
    const double* right;
    std::size_t ld_right;
  };
  // Returns what it has computed.
  comm::Work add(const Product& product);

 private:
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

  // All ranks of `all` call it. cost: that of fill_couplings(), shared among the ranks.
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
