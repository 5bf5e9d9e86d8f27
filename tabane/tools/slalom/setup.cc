#include "tabane/tools/slalom/setup.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"
#include "tabane/solver/model.h"

namespace tabane::slalom {

comm::GridShape grid_of(int ranks, comm::GridShape wanted) {
  const comm::GridShape shape = comm::fit_grid(ranks, wanted);
  if (wanted.rows != 0 || wanted.columns != 0) return shape;
  return {shape.columns, shape.rows};
}

int default_block(int unknowns, comm::GridShape grid) {
  constexpr int kMost = 192, kLeast = 8;
  const int side = std::max(grid.rows, grid.columns);
  return std::clamp(unknowns / (8 * side) / kLeast * kLeast, kLeast, kMost);
}

Distribution distribute(int first_face, int patches, comm::GridShape grid, int my_row,
                        int my_column, int block) {
  const int rest = patches - first_face;
  return {.first_face = first_face,
          .rows = {rest, block, grid.rows, my_row},
          .columns = {rest, block, grid.columns, my_column},
          .first = {first_face, block, grid.columns, my_column}};
}

namespace {

constexpr int kStripColumns = 1024;

// Columns that are a multiple of 4 KiB apart would compete for the same places of the caches.
std::size_t padded(int rows) {
  const std::size_t ld = (static_cast<std::size_t>(rows) + 7) / 8 * 8;
  return ld % 512 == 0 ? ld + 8 : ld;
}

std::size_t end_of(const std::vector<LowerPart::Strip>& strips,
                   const solver::BlockCyclic& columns) {
  if (strips.empty()) return 0;
  const LowerPart::Strip& last = strips.back();
  return last.offset + last.ld * static_cast<std::size_t>(columns.my_count() - last.column);
}

std::size_t leading_dimension(const Distribution& distribution) {
  return (static_cast<std::size_t>(distribution.rows.my_count()) + 15) / 8 * 8;
}

std::size_t first_numbers(const Distribution& distribution) {
  return leading_dimension(distribution) * static_cast<std::size_t>(distribution.first.my_count());
}

// Of a coupling; the benchmark counts 370 or 532, by where the faces are.
constexpr double kOperations = 400;

// Blocks above the diagonal are not computed, so their sums come from below it. cost: 2 operations
// a number, from the second cache.
void add_sums(const CouplingBlock& block, std::vector<double>& sums) {
  double* const of_rows = sums.data() + block.row;
  for (int j = 0; j < block.columns; ++j) {
    const double* const column = block.numbers + static_cast<std::size_t>(j) * block.ld;
    double sum = 0;
    for (int i = 0; i < block.rows; ++i) {
      of_rows[i] += column[i];
      sum += column[i];
    }
    if (!block.diagonal()) sums[block.column + j] += sum;
  }
}

}  // namespace

std::vector<LowerPart::Strip> LowerPart::strips_of(const solver::BlockCyclic& rows,
                                                   const solver::BlockCyclic& columns) {
  std::vector<Strip> strips;
  const int blocks_a_strip = std::max(1, kStripColumns / columns.block);
  std::size_t offset = 0;
  for (int first = 0; first < columns.my_blocks(); first += blocks_a_strip) {
    Strip strip{.first = first, .offset = offset};
    strip.blocks = std::min(blocks_a_strip, columns.my_blocks() - first);
    strip.row = rows.indices_before(columns.my_block(first));
    strip.rows = rows.my_count() - strip.row;
    strip.column = columns.indices_before(columns.my_block(first));
    strip.ld = padded(strip.rows);
    strips.push_back(strip);
    const int end = columns.indices_before(columns.my_block(first + strip.blocks));
    offset += strip.ld * static_cast<std::size_t>(end - strip.column);
  }
  return strips;
}

std::size_t LowerPart::bytes(const solver::BlockCyclic& rows, const solver::BlockCyclic& columns) {
  return end_of(strips_of(rows, columns), columns) * sizeof(double);
}

LowerPart::LowerPart(const solver::BlockCyclic& rows, const solver::BlockCyclic& columns)
    : rows_(rows),
      columns_(columns),
      strips_(strips_of(rows, columns)),
      size_(end_of(strips_, columns)),
      region_((size_ + 1) * sizeof(double)) {}

const LowerPart::Strip& LowerPart::strip_of(int j) const {
  const int strip = columns_.blocks_before(j) / std::max(1, kStripColumns / columns_.block);
  return strips_[strip];
}

double* LowerPart::at(int i, int j) const {
  const Strip& strip = strip_of(j);
  const auto row = static_cast<std::size_t>(rows_.indices_before(i) - strip.row);
  const auto column = static_cast<std::size_t>(columns_.indices_before(j) - strip.column);
  return numbers() + strip.offset + column * strip.ld + row;
}

// Adds to the rectangle below the diagonal of the last column block, then to the two halves of what
// is above it: all products are large but those of the blocks on the diagonal. Returns how many
// numbers it has changed.
double LowerPart::add_wedge(const Product& product, const Strip& strip, int first, int last,
                            int row_end) {
  const int row = std::min(rows_.indices_before(columns_.my_block(last - 1)), row_end);
  const int column = columns_.indices_before(columns_.my_block(first));
  const int columns = columns_.indices_before(columns_.my_block(last)) - column;
  double changed = 0;
  if (row < row_end && columns > 0) {
    double* const to = numbers() + strip.offset +
                       static_cast<std::size_t>(column - strip.column) * strip.ld +
                       static_cast<std::size_t>(row - strip.row);
    changed = static_cast<double>(row_end - row) * columns;
    const int left = row - rows_.indices_before(product.after + 1);
    const int right = column - columns_.indices_before(product.after + 1);
    solver::add_product(CblasNoTrans, CblasTrans, row_end - row, columns, product.inner,
                        product.factor, product.left + left, static_cast<int>(product.ld_left),
                        product.right + right, static_cast<int>(product.ld_right), to,
                        static_cast<int>(strip.ld));
  }
  if (last - first < 2) return changed;
  const int middle = (first + last) / 2;
  return changed + add_wedge(product, strip, first, middle, row) +
         add_wedge(product, strip, middle, last, row);
}

comm::Work LowerPart::add(const Product& product) {
  double changed = 0;
  for (const Strip& strip : strips_) {
    const int first = std::max(strip.first, columns_.blocks_before(product.after + 1));
    const int last = strip.first + strip.blocks;
    if (first < last) changed += add_wedge(product, strip, first, last, strip.row + strip.rows);
  }
  return {
      .kind = solver::kSymmetric, .operations = 2 * changed * product.inner, .bytes = 16 * changed};
}

void for_each_block(const Geometry& geometry, const Region& region,
                    const Distribution& distribution, const StorageOf& storage_of,
                    const std::function<void(const CouplingBlock&)>& visit) {
  const solver::BlockCyclic& rows = distribution.rows;
  const auto first_row = [&](int b) { return distribution.first_face + rows.begin(b); };
  std::vector<std::vector<EdgeRun>> row_runs;
  for (int i = 0; i < rows.my_blocks(); ++i) {
    const int b = rows.my_block(i);
    row_runs.push_back(edge_runs(region, first_row(b), rows.size(b)));
  }
  CouplingSpace space;
  // Computes the blocks of patches [first, first + columns) from row block `from` on.
  const auto column = [&](bool first_face, int b, int first, int columns, int from) {
    const std::vector<EdgeRun> runs = edge_runs(region, first, columns);
    for (int i = rows.blocks_before(from); i < rows.my_blocks(); ++i) {
      const int row_block = rows.my_block(i);
      const BlockStorage place = storage_of(first_face, row_block, b);
      const CouplingBlock block{
          first_row(row_block), rows.size(row_block), first, columns, place.numbers, place.ld};
      for (const EdgeRun& row_run : row_runs[i]) {
        for (const EdgeRun& run : runs) {
          fill_couplings(geometry, row_run, run,
                         place.numbers + (row_run.first - block.row) +
                             static_cast<std::size_t>(run.first - first) * place.ld,
                         place.ld, space);
        }
      }
      visit(block);
    }
  };
  const solver::BlockCyclic &of_first = distribution.first, &of_rest = distribution.columns;
  for (int j = 0; j < of_first.my_blocks(); ++j) {
    const int b = of_first.my_block(j);
    column(true, b, of_first.begin(b), of_first.size(b), 0);
  }
  for (int j = 0; j < of_rest.my_blocks(); ++j) {
    const int b = of_rest.my_block(j);
    column(false, b, first_row(b), of_rest.size(b), b);
  }
}

Couplings::Couplings(const Distribution& distribution)
    : distribution_(distribution),
      ld_first_(leading_dimension(distribution)),
      region_((first_numbers(distribution) + 1) * sizeof(double)),
      rest_(distribution.rows, distribution.columns) {}

std::size_t Couplings::bytes(const Distribution& distribution) {
  return first_numbers(distribution) * sizeof(double) +
         LowerPart::bytes(distribution.rows, distribution.columns);
}

void Couplings::compute(const Geometry& geometry, const Region& region, comm::Comm& all) {
  sums_.assign(region.size(), 0);
  const solver::BlockCyclic& rows = distribution_.rows;
  const auto storage_of = [&](bool first_face, int i, int j) -> BlockStorage {
    if (!first_face) return {rest_.at(i, j), rest_.ld(j)};
    const auto column = static_cast<std::size_t>(distribution_.first.indices_before(j));
    return {first() + column * ld_first_ + rows.indices_before(i), ld_first_};
  };
  double couplings = 0;
  for_each_block(geometry, region, distribution_, storage_of, [&](const CouplingBlock& block) {
    add_sums(block, sums_);
    couplings += block.rows * static_cast<double>(block.columns) / (block.diagonal() ? 2 : 1);
  });
  all.compute({.kind = solver::kCoupling,
               .operations = kOperations * couplings,
               .bytes = sizeof(double) * couplings});
  all.compute({.kind = solver::kMemory, .bytes = sizeof(double) * couplings});
  comm::all_reduce(all, sums_, comm::Operation::sum, {.reproducible = true});
}

double worst_row_sum(const Region& region, const std::vector<double>& sums) {
  double worst = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double due = 8 * std::numbers::pi * region.patches[i].area();
    const double deviation = std::abs(sums[i] - due) / sums[i];
    if (std::isnan(deviation)) return deviation;
    worst = std::max(worst, deviation);
  }
  return worst;
}

}  // namespace tabane::slalom
