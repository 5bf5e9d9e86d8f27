// The lower part of a symmetric matrix, block-cyclic over a grid of ranks: what one rank keeps.
#pragma once

#include <cstddef>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/tools/slalom/block_cyclic.h"

namespace tabane::slalom {

// Blocks (I, J) with I >= J. Columns lie in strips of about 1000: those of a strip begin at the
// same row, that of its first block, so that one product serves the whole strip. What that stores
// besides the lower part is 1000 / n of it.
class LowerPart {
 public:
  struct Strip {
    int first = 0, blocks = 0;  // of this rank's column blocks
    int row = 0, rows = 0;      // of this rank's rows
    int column = 0;             // of this rank's columns
    std::size_t ld = 0, offset = 0;
  };

  // rows and columns deal out the same indices. The numbers are 0 and not touched yet.
  LowerPart(const BlockCyclic& rows, const BlockCyclic& columns);

  static std::vector<Strip> strips_of(const BlockCyclic& rows, const BlockCyclic& columns);
  // What the constructor takes, in bytes.
  static std::size_t bytes(const BlockCyclic& rows, const BlockCyclic& columns);

  const BlockCyclic& rows() const { return rows_; }
  const BlockCyclic& columns() const { return columns_; }
  const std::vector<Strip>& strips() const { return strips_; }
  double* numbers() const { return reinterpret_cast<double*>(region_.data()); }
  std::size_t size() const { return size_; }

  // Where row block i >= j of this rank begins in column block j, both as numbers of all; i may be
  // another rank's: then the next one of this rank. The rank's next rows follow.
  double* at(int i, int j) const;
  std::size_t ld(int j) const { return strip_of(j).ld; }

  // Subtracts left right^T from the blocks (I, J) with J > after: left has this rank's rows of
  // blocks > after, ld_left apart, right its columns of blocks > after. factor: -1, or another
  // factor of the product that is added.
  void add_product(int after, double factor, int inner, const double* left, std::size_t ld_left,
                   const double* right, std::size_t ld_right);

 private:
  struct Product;

  const Strip& strip_of(int j) const;
  void add_wedge(const Product& product, const Strip& strip, int first, int last, int row_end);

  BlockCyclic rows_, columns_;
  std::vector<Strip> strips_;
  std::size_t size_ = 0;
  core::Region region_;
};

}  // namespace tabane::slalom
