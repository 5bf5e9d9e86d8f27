#include "tabane/tools/slalom/setup.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tabane/comm/collectives.h"

namespace tabane::slalom {
namespace {

std::size_t leading_dimension(const Distribution& distribution) {
  return (static_cast<std::size_t>(distribution.rows.my_count()) + 15) / 8 * 8;
}

std::size_t first_numbers(const Distribution& distribution) {
  return leading_dimension(distribution) * static_cast<std::size_t>(distribution.first.my_count());
}

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
    if (!block.diagonal()) sums[static_cast<std::size_t>(block.column + j)] += sum;
  }
}

class Blocks {
 public:
  Blocks(const Geometry& geometry, const Region& region, const Distribution& distribution,
         const PlaceOf& place_of, const std::function<void(const CouplingBlock&)>& visit)
      : geometry_(geometry),
        region_(region),
        distribution_(distribution),
        place_of_(place_of),
        visit_(visit) {
    for (int i = 0; i < rows().my_blocks(); ++i) {
      const int b = rows().my_block(i);
      row_runs_.push_back(edge_runs(region, first_row(b), rows().size(b)));
    }
  }

  void run() {
    const BlockCyclic& first = distribution_.first;
    for (int j = 0; j < first.my_blocks(); ++j) {
      const int b = first.my_block(j);
      column(true, b, edge_runs(region_, first.begin(b), first.size(b)), first.size(b), 0);
    }
    const BlockCyclic& columns = distribution_.columns;
    for (int j = 0; j < columns.my_blocks(); ++j) {
      const int b = columns.my_block(j);
      column(false, b, edge_runs(region_, first_row(b), columns.size(b)), columns.size(b), b);
    }
  }

 private:
  const BlockCyclic& rows() const { return distribution_.rows; }
  int first_row(int b) const { return distribution_.first_face + rows().begin(b); }

  // The blocks from row block `from` on.
  void column(bool first_face, int b, const std::vector<EdgeRun>& runs, int columns, int from) {
    for (int i = rows().blocks_before(from); i < rows().my_blocks(); ++i) {
      const int row_block = rows().my_block(i);
      const BlockPlace place = place_of_(first_face, row_block, b);
      const CouplingBlock block{first_row(row_block), rows().size(row_block),
                                runs.front().first,   columns,
                                place.numbers,        place.ld};
      for (const EdgeRun& row_run : row_runs_[static_cast<std::size_t>(i)]) {
        for (const EdgeRun& run : runs) {
          fill_couplings(geometry_, row_run, run,
                         place.numbers + (row_run.first - block.row) +
                             static_cast<std::size_t>(run.first - block.column) * place.ld,
                         place.ld, space_);
        }
      }
      visit_(block);
    }
  }

  const Geometry& geometry_;
  const Region& region_;
  const Distribution& distribution_;
  const PlaceOf& place_of_;
  const std::function<void(const CouplingBlock&)>& visit_;
  std::vector<std::vector<EdgeRun>> row_runs_;
  CouplingSpace space_;
};

}  // namespace

void for_each_block(const Geometry& geometry, const Region& region,
                    const Distribution& distribution, const PlaceOf& place_of,
                    const std::function<void(const CouplingBlock&)>& visit) {
  Blocks(geometry, region, distribution, place_of, visit).run();
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
  sums_.assign(static_cast<std::size_t>(region.size()), 0);
  const BlockCyclic& rows = distribution_.rows;
  const auto place_of = [&](bool first_face, int i, int j) -> BlockPlace {
    if (!first_face) return {rest_.at(i, j), rest_.ld(j)};
    const auto column = static_cast<std::size_t>(distribution_.first.indices_before(j));
    return {first() + column * ld_first_ + rows.indices_before(i), ld_first_};
  };
  for_each_block(geometry, region, distribution_, place_of,
                 [&](const CouplingBlock& block) { add_sums(block, sums_); });
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
