// How much of a product is held as residues at a time.
#pragma once

#include <cstddef>

#include "tabane/workloads/mp_matmul/plan.h"

namespace tabane::workloads::mp_matmul {

struct Blocks {
  std::size_t rows = 0, columns = 0;            // of operands held as residues
  std::size_t tile_rows = 0, tile_columns = 0;  // of the product, for each thread
  double bytes = 0;
};

// primes: of all pieces. throws: core::UsageError, with what would suffice, if `memory` bytes do
// not.
struct BlockRequest {
  std::size_t rows, columns;
  double line_bytes;     // of a row of a or a column of b
  double element_bytes;  // of the product, in a tile
  double constant_bytes;
  int threads;
  double memory;
};
Blocks choose_blocks(const BlockRequest& request);

}  // namespace tabane::workloads::mp_matmul
