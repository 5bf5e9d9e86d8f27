#include "tabane/workloads/mp_matmul/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::workloads::mp_matmul {
namespace {

constexpr std::size_t kMostTile = std::size_t{1} << 20;

std::size_t half(std::size_t size) { return (size + 1) / 2; }

double bytes_of(const BlockRequest& request, const Blocks& blocks) {
  const double lines = static_cast<double>(blocks.rows) + static_cast<double>(blocks.columns);
  const double tile =
      static_cast<double>(blocks.tile_rows) * static_cast<double>(blocks.tile_columns);
  return lines * request.line_bytes + request.threads * tile * request.element_bytes +
         request.constant_bytes;
}

// At least a tile for each thread, none larger than what the caches should see.
void cut_tiles(const BlockRequest& request, Blocks& blocks) {
  blocks.tile_rows = blocks.rows;
  blocks.tile_columns = blocks.columns;
  std::size_t tiles = 1;
  while (tiles < static_cast<std::size_t>(request.threads) ||
         blocks.tile_rows * blocks.tile_columns > kMostTile) {
    if (blocks.tile_rows * blocks.tile_columns <= 1) break;
    std::size_t& larger =
        blocks.tile_rows > blocks.tile_columns ? blocks.tile_rows : blocks.tile_columns;
    larger = half(larger);
    tiles *= 2;
  }
}

}  // namespace

Blocks choose_blocks(const BlockRequest& request) {
  Blocks blocks{std::max<std::size_t>(request.rows, 1), std::max<std::size_t>(request.columns, 1)};
  for (;;) {
    cut_tiles(request, blocks);
    blocks.bytes = bytes_of(request, blocks);
    if (blocks.bytes <= request.memory) return blocks;
    std::size_t& larger = blocks.rows > blocks.columns ? blocks.rows : blocks.columns;
    if (larger == 1) break;
    larger = half(larger);
  }
  throw core::UsageError(
      fmt::format("{} of memory are too little: residues of one row and one column take {}",
                  core::format_bytes(static_cast<std::uint64_t>(request.memory)),
                  core::format_bytes(static_cast<std::uint64_t>(std::ceil(blocks.bytes)))));
}

}  // namespace tabane::workloads::mp_matmul
