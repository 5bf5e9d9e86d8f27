// How much of a product is held as residues at a time.
#pragma once

#include <cstddef>

namespace tabane::matmul {

// A block of the product has its residues modulo all primes, the operands' lines for it have theirs
// modulo some; each thread multiplies a tile of the block.
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
// throws: core::UsageError, with what would suffice, if the memory does not.
Blocks choose_blocks(const BlockRequest& request);

}  // namespace tabane::matmul
