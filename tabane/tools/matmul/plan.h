// Which terms, rows and columns are multiplied by residues, and which elements one by one.
#pragma once

#include <vector>

#include "tabane/tools/matmul/operands.h"
#include "tabane/tools/matmul/options.h"

namespace tabane::matmul {

// Terms whose products are summed as integers of one width; the sums of several pieces are then
// summed exactly.
struct Piece {
  Terms terms;
  std::vector<Line> a, b;                 // by row of a, by column of b
  std::int64_t a_width = 0, b_width = 0;  // of those that are not apart
};

struct Plan {
  Method method = Method::residues;
  std::vector<Piece> pieces;
  std::vector<int> rows, columns;              // by residues or integers
  std::vector<int> rows_apart, columns_apart;  // whose elements are computed by exact sums
};

// Finds what the model says is fastest. method: as a caller demands, or automatic.
// cost: a look at each number, and some more where exponents differ much.
Plan make_plan(const Operands& operands, mpfr_prec_t bits, Method method);

}  // namespace tabane::matmul
