// Which terms, rows and columns are multiplied by residues, and which elements one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tabane/tools/matmul/multiply.h"
#include "tabane/tools/matmul/operands.h"

namespace tabane::matmul {

// Terms whose products are summed as integers of one width; the sums of several groups are
// then summed exactly.
struct TermGroup {
  ShiftedTerms terms;
  std::vector<ExponentSpan> a, b;         // by row of a, by column of b
  std::int64_t a_width = 0, b_width = 0;  // of those that are no outliers

  const std::vector<ExponentSpan>& spans(Factor side) const { return side == Factor::a ? a : b; }
  // The number in term t of a line is an integer times 2^low.
  std::int64_t low(Factor side, int line, std::size_t t) const {
    return side == Factor::a ? a[line].low - terms.shift[t] : b[line].low + terms.shift[t];
  }
};

struct ProductPlan {
  Method method = Method::residues;
  std::vector<TermGroup> groups;
  std::vector<int> rows, columns;                  // by residues or integers
  std::vector<int> outlier_rows, outlier_columns;  // whose elements are computed by exact sums
};

// Returns the plan that is fastest by a model. method: as a caller demands, or automatic.
// cost: a look at each number, and some more where exponents differ much.
ProductPlan make_plan(const Operands& operands, mpfr_prec_t bits, Method method);

// How much of a product is held as residues at a time: a block of the product has its residues
// modulo all primes, the operands' lines for it have theirs modulo some; each thread multiplies a
// tile of the block.
struct Blocks {
  std::size_t rows = 0, columns = 0;
  std::size_t primes = 0;  // of the operands at a time
  std::size_t tile_rows = 0, tile_columns = 0;
  double bytes = 0;
};

struct BlockRequest {
  std::size_t rows, columns, primes;
  double line_bytes;     // of a row of a or a column of b, for one prime
  double element_bytes;  // of an element of the product, for all primes
  double product_bytes;  // of an element of a tile
  double constant_bytes;
  int threads;
  double memory;
};
// throws: core::UsageError if the memory does not suffice, with the bytes that would.
Blocks choose_blocks(const BlockRequest& request);

struct Extent {
  double rows, columns, terms;
};

// A model of what a product by residues takes, in nanoseconds of one core; its constants are those
// of a core with vectors of 512 bits. It only chooses between ways that give the same bits.
// On ranks that have a block of the product each.
double blocks_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width, int parts,
                 int grid_rows, int grid_columns);
// On ranks that have some primes each, and send each other residues of four bytes.
double spread_primes_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width, int parts,
                        int ranks);

}  // namespace tabane::matmul
