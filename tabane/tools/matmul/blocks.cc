#include "tabane/tools/matmul/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::matmul {
namespace {

constexpr std::size_t kMostTile = std::size_t{1} << 20;
// Operands take no more: memory that is new costs more than reading digits again.
constexpr double kMostOperandBytes = 256 << 20;

std::size_t half(std::size_t size) { return (size + 1) / 2; }

// At least a tile for each thread, none larger than what the caches should see. Whole rows, as far
// as there are enough.
void cut_tiles(const BlockRequest& request, Blocks& blocks) {
  blocks.tile_rows = blocks.rows;
  blocks.tile_columns = blocks.columns;
  std::size_t tiles = 1;
  while (tiles < static_cast<std::size_t>(request.threads) ||
         blocks.tile_rows * blocks.tile_columns > kMostTile) {
    if (blocks.tile_rows * blocks.tile_columns <= 1) break;
    std::size_t& size =
        blocks.tile_rows > 8 || blocks.tile_columns == 1 ? blocks.tile_rows : blocks.tile_columns;
    size = half(size);
    tiles *= 2;
  }
}

// Bytes without the operands, and of these for one prime.
struct Bytes {
  double others, prime;
};

Bytes bytes_of(const BlockRequest& request, const Blocks& blocks) {
  const auto rows = static_cast<double>(blocks.rows), columns = static_cast<double>(blocks.columns);
  const double tile =
      static_cast<double>(blocks.tile_rows) * static_cast<double>(blocks.tile_columns);
  return {rows * columns * request.element_bytes + request.threads * tile * request.product_bytes +
              request.constant_bytes,
          (rows + columns) * request.line_bytes};
}

}  // namespace

Blocks choose_blocks(const BlockRequest& request) {
  Blocks blocks{std::max<std::size_t>(request.rows, 1), std::max<std::size_t>(request.columns, 1)};
  for (;;) {
    cut_tiles(request, blocks);
    const Bytes bytes = bytes_of(request, blocks);
    const double room =
        std::min(request.memory - bytes.others, std::max(kMostOperandBytes, bytes.prime));
    const double fit = bytes.prime > 0 ? room / bytes.prime : static_cast<double>(request.primes);
    if (room >= 0 && fit >= 1) {
      blocks.primes = static_cast<std::size_t>(std::min(fit, static_cast<double>(request.primes)));
      // As many at a time, but for the last ones.
      const std::size_t times = (request.primes + blocks.primes - 1) / blocks.primes;
      blocks.primes = (request.primes + times - 1) / times;
      blocks.bytes = bytes.others + static_cast<double>(blocks.primes) * bytes.prime;
      return blocks;
    }
    std::size_t& larger = blocks.rows > blocks.columns ? blocks.rows : blocks.columns;
    if (larger == 1) {
      throw core::UsageError(fmt::format(
          "{} of memory are too little: residues of one row and one column take {}",
          core::format_bytes(static_cast<std::uint64_t>(request.memory)),
          core::format_bytes(static_cast<std::uint64_t>(std::ceil(bytes.others + bytes.prime)))));
    }
    larger = half(larger);
  }
}

}  // namespace tabane::matmul
