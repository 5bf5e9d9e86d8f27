#include "tabane/tools/scg/gather.h"

#include <algorithm>

#include "tabane/comm/collectives.h"

namespace tabane::scg {
namespace {

std::vector<double> packed(const Field& field, const Block& block) {
  std::vector<double> values(block.unknowns());
  for (std::size_t i = 0; i < block.rows; ++i) {
    std::copy_n(field.row(static_cast<std::ptrdiff_t>(i)), block.columns,
                values.begin() + static_cast<std::ptrdiff_t>(i * block.columns));
  }
  return values;
}

}  // namespace

std::vector<double> gather_field(comm::Comm& comm, const Problem& problem, comm::GridShape grid,
                                 const Field& field) {
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < comm.size(); ++rank) {
    counts.push_back(block_of(problem, grid, rank).unknowns());
  }
  const bool is_root = comm.rank() == 0;
  const std::vector<double> own = packed(field, block_of(problem, grid, comm.rank()));
  std::vector<double> parts(is_root ? problem.rows * problem.columns : 0);
  comm::gather_varying(comm, own, parts, counts, 0);
  if (!is_root || grid.columns == 1) return parts;  // rows of blocks follow each other already
  std::vector<double> whole(parts.size());
  auto from = parts.cbegin();
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Block block = block_of(problem, grid, rank);
    for (std::size_t i = 0; i < block.rows; ++i) {
      const std::size_t to = (block.first_row + i) * problem.columns + block.first_column;
      std::copy_n(from, block.columns, whole.begin() + static_cast<std::ptrdiff_t>(to));
      from += static_cast<std::ptrdiff_t>(block.columns);
    }
  }
  return whole;
}

}  // namespace tabane::scg
