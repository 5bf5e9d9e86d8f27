// A rank's part of the mesh, and of the scaled system on it: A with a unit diagonal, and its
// vectors.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/comm/grid.h"
#include "tabane/core/memory.h"
#include "tabane/tools/scg/problem.h"

namespace tabane::scg {

// ---- the two passes of an iteration over a block, with run-time dispatch ----

// Vectors over the block: element (i, j) is first[i * stride + j]. Each has a frame of one
// element around the block, which holds the neighbours' elements or, at the sides of the rectangle,
// 0.
struct Extent {
  std::size_t rows = 0, columns = 0;
  std::ptrdiff_t stride = 0;
};

// The elements of A besides its unit diagonal: -east[i, j] to the unknown east of (i, j), -south[i,
// j] to the one south of it. Null: 1/4 everywhere.
struct Couplings {
  const double* east = nullptr;
  const double* south = nullptr;
};

// p := r + beta p, without the frame. Returns (p, A p), in which the frame counts as 0.
double new_direction(const Extent& extent, const double* r, double beta, double* p,
                     const Couplings& couplings);

// x := x + of_p p - of_r r, with r before its update; null: x is not changed.
struct SolutionUpdate {
  double* x = nullptr;
  double of_p = 0, of_r = 0;
};

// r := r - alpha A p, with the frame of p. Returns (r, r).
double update(const Extent& extent, const double* p, double alpha, double* r,
              const SolutionUpdate& solution, const Couplings& couplings);

// out := r + beta p, with the same bits as new_direction().
void combine(const double* r, double beta, const double* p, double* out, std::size_t n);

// ---- blocks and ranks ----

// The part of the mesh that a rank has.
struct Block {
  std::size_t first_row = 0, rows = 0, first_column = 0, columns = 0;
  std::array<int, kSides> neighbours{-1, -1, -1, -1};  // ranks; -1: a side of the rectangle

  std::size_t unknowns() const { return rows * columns; }
};

// Replaces zeros in `wanted` so that the halos are short: those of columns, whose elements are not
// adjacent, count twice.
// throws: core::UsageError if no grid of so many ranks fits the mesh, or the wanted one does not.
comm::GridShape choose_grid(int ranks, const Problem& problem, comm::GridShape wanted = {});

// Returns the largest number of ranks up to `limit` that have a grid which fits the mesh.
int most_ranks(int limit, const Problem& problem);

// Returns the block of a rank. Sizes of blocks differ by one row and one column at most. The grid
// fits the mesh.
Block block_of(const Problem& problem, comm::GridShape grid, int rank);

// Returns the distance of two rows: the frame's left element is the padding of the row before;
// whole cache lines, and not a multiple of a page, so that rows do not meet in the same sets of a
// cache.
constexpr std::ptrdiff_t stride_of(std::size_t columns) {
  constexpr std::size_t kLine = 8, kPage = 512;
  const std::size_t stride = (columns + 2 + kLine - 1) / kLine * kLine;
  return static_cast<std::ptrdiff_t>(stride % kPage == 0 ? stride + kLine : stride);
}

// A vector over a block of the mesh, with a frame of one element around it for the neighbours'. All
// zero at first. Rows begin at a cache line. Elements up to a vector's length behind the last
// may be read.
class Field {
 public:
  Field() = default;
  // number: of the field among those that are used together; the same element of each is at
  // another place in a page, so that none waits for a store to another.
  Field(std::size_t rows, std::size_t columns, std::size_t number)
      : rows_(rows),
        stride_(stride_of(columns)),
        offset_(kMargin + number * kSkew + static_cast<std::size_t>(stride_)),
        region_(
            (offset_ + static_cast<std::size_t>(stride_) * (rows + 1) + kMargin) * sizeof(double),
            {.nodes = {}, .pages = core::PageSize::huge_if_large}) {}

  // row: -1 … rows.
  double* row(std::integral auto row) const {
    return reinterpret_cast<double*>(region_.data()) + static_cast<std::ptrdiff_t>(offset_) +
           static_cast<std::ptrdiff_t>(row) * stride_;
  }
  // From the first row to the last, with what lies between them.
  std::span<double> all() const { return {row(0), rows_ * static_cast<std::size_t>(stride_)}; }
  std::ptrdiff_t stride() const { return stride_; }
  bool exists() const { return region_.size() > 0; }

 private:
  static constexpr std::size_t kMargin = 64, kSkew = 13 * 8;  // elements

  std::size_t rows_ = 0;
  std::ptrdiff_t stride_ = 0;
  std::size_t offset_ = 0;
  core::Region region_;
};

// Returns the largest magnitude in a field over all ranks.
double largest_in(comm::Comm& comm, const Field& field);
// Returns the power of two that brings a number to [1, 2), or near it.
double scale_to_one(double value);

// Exchanges the elements at the edges of blocks with the neighbours: at most four messages each
// way, of a row or a column.
class Halo {
 public:
  // The communicator and the block must outlive it.
  Halo(comm::Comm& comm, const Block& block);

  // Starts to exchange the edges of p; of r + beta p, which is not computed yet.
  void begin(const Field& p);
  void begin(const Field& r, double beta, const Field& p);
  // Waits for the neighbours' edges, which place() then writes into the frame of p.
  void wait();
  void place(const Field& p);
  // Does all three, for the edges of p.
  void exchange(const Field& p) {
    begin(p);
    wait();
    place(p);
  }

  // Returns a part of (p, A p): the products over the edges between unknowns of this rank and of
  // its neighbours to the north and to the west; the others count the rest. After place().
  double cut_edges(const Field& p, const Couplings& couplings) const;

 private:
  struct Edge {
    std::vector<double> sent, received;
  };
  std::size_t length(int side) const;
  void copy_edge(const Field& field, int side, std::vector<double>& to) const;
  void start();

  comm::Comm& comm_;
  const Block& block_;
  std::array<Edge, kSides> edges_;
  std::vector<double> spare_;
  std::vector<comm::Request> requests_;
};

// A rank's part of the scaled system: with D the diagonal of A, D^-1/2 A D^-1/2 y = D^-1/2 b and u
// = D^-1/2 y.
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
