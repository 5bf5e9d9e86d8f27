#include "tabane/tools/slalom/factors.h"

#include <algorithm>
#include <cmath>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"
#include "tabane/solver/model.h"

namespace tabane::slalom {

LdlFactors::LdlFactors(Couplings& couplings)
    : couplings_(couplings),
      others_{{{distribution().rows, distribution().columns},
               {distribution().rows, distribution().columns}}} {}

std::size_t LdlFactors::bytes(const Distribution& distribution) {
  return (kColours - 1) * LowerPart::bytes(distribution.rows, distribution.columns);
}

LowerPart& LdlFactors::of(int colour) {
  return colour == 0 ? couplings_.rest() : others_[static_cast<std::size_t>(colour) - 1];
}

// K = C21 diag(1 / S) C12, in the place of the second system.
void LdlFactors::eliminate_first_face(PanelExchange& panels, comm::Grid& grid, comm::Steps& steps) {
  const solver::BlockCyclic& first = distribution().first;
  for (int b = 0; b < first.blocks(); ++b) {
    const int size = first.size(b);
    {
      const auto in = steps.in(kFirstFace);
      panels.begin(-1, size, 1);
      if (first.owner_of_block(b) == first.mine) {
        const double* from =
            couplings_.first() +
            static_cast<std::size_t>(first.indices_before(b)) * couplings_.ld_first();
        double* to = panels.left(0);
        for (int j = 0; j < size; ++j, from += couplings_.ld_first(), to += panels.ld()) {
          std::copy_n(from, panels.rows(), to);
        }
      }
      for (int j = 0; j < size; ++j) {
        panels.scales(0)[j] = 1 / couplings_.sums()[first.begin(b) + j];
      }
    }
    panels.share(first.owner_of_block(b));
    const auto in = steps.in(kFirstFace);
    panels.scale(0);
    grid.all().compute(of(1).add(panels.product(0, 1)));
  }
}

// M^q behind the first face = C22 - diag(S / rho^q) + rho^q of the first face K, in place.
// cost: per number 4 operations, 16 B read and 24 B written.
void LdlFactors::make_systems(const Geometry& geometry, const Region& region) {
  const auto rho = [&](int colour, int face) { return geometry.reflectivity[colour][face]; };
  const double rho0 = rho(0, 0), rho1 = rho(1, 0), rho2 = rho(2, 0);
  double* const c = of(0).numbers();
  double* const k = of(1).numbers();
  double* const other = of(2).numbers();
  const std::size_t size = of(0).size();
  for (std::size_t i = 0; i < size; ++i) {
    const double coupling = c[i], product = k[i];
    c[i] = coupling + rho0 * product;
    k[i] = coupling + rho1 * product;
    other[i] = coupling + rho2 * product;
  }
  const solver::BlockCyclic& rows = distribution().rows;
  const solver::BlockCyclic& columns = distribution().columns;
  for (int colour = 0; colour < kColours; ++colour) {
    for (int b = 0; b < rows.blocks(); ++b) {
      if (rows.owner_of_block(b) != rows.mine || columns.owner_of_block(b) != columns.mine)
        continue;
      for (int i = 0; i < rows.size(b); ++i) {
        const auto patch = static_cast<std::size_t>(distribution().first_face + rows.begin(b) + i);
        of(colour).at(b, b)[static_cast<std::size_t>(i) * (of(colour).ld(b) + 1)] -=
            couplings_.sums()[patch] / rho(colour, region.patches[patch].face);
      }
    }
  }
}

// X = A L^-T of the rows below, L and D from the block on the diagonal.
void LdlFactors::factor_panel(int k, PanelExchange& panels, comm::Grid& grid, comm::Steps& steps) {
  const solver::BlockCyclic& rows = distribution().rows;
  const int size = rows.size(k);
  grid.all().compute(solver::copies(2.0 * kColours * size * panels.rows()));  // and keep_panel()
  const auto numbers = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  diagonal_.resize(numbers * kColours);
  const auto block = [&](int q) {
    return diagonal_.data() + numbers * static_cast<std::size_t>(q);
  };
  if (rows.owner_of_block(k) == rows.mine) {
    for (int q = 0; q < kColours; ++q) {
      double* const a = of(q).at(k, k);
      const std::size_t ld = of(q).ld(k);
      factor_block(a, size, ld, space_);
      grid.all().compute({.kind = solver::kTriangle, .operations = std::pow(size, 3) / 3});
      for (int j = 0; j < size; ++j) {
        std::copy_n(a + static_cast<std::size_t>(j) * ld, size, block(q) + j * size);
      }
    }
  }
  steps.in(kBroadcast, [&] { comm::broadcast(grid.column(), diagonal_, rows.owner_of_block(k)); });
  for (int q = 0; q < kColours; ++q) {
    for (int j = 0; j < size; ++j) {
      panels.scales(q)[j] = 1 / block(q)[j * (size + 1)];
    }
    if (panels.rows() == 0) continue;
    grid.all().compute(
        {.kind = solver::kTriangle, .operations = 1.0 * size * size * panels.rows()});
    const double* const below = of(q).at(k + 1, k);
    for (int j = 0; j < size; ++j) {
      std::copy_n(below + static_cast<std::size_t>(j) * of(q).ld(k), panels.rows(),
                  panels.left(q) + static_cast<std::size_t>(j) * panels.ld());
    }
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, panels.rows(), size,
                1, block(q), size, panels.left(q), static_cast<int>(panels.ld()));
  }
}

// L = X D^-1, also where A was if this rank owns that.
void LdlFactors::keep_panel(int k, PanelExchange& panels) {
  const bool owner = distribution().columns.owner_of_block(k) == distribution().columns.mine;
  for (int q = 0; q < kColours; ++q) {
    if (owner && panels.rows() > 0) {
      panels.scale(q, of(q).at(k + 1, k), of(q).ld(k));
    } else {
      panels.scale(q);
    }
  }
}

void LdlFactors::compute(const Geometry& geometry, const Region& region, comm::Grid& grid,
                         comm::Steps& steps) {
  PanelExchange panels(grid, steps, distribution(), kColours);
  eliminate_first_face(panels, grid, steps);
  steps.in(kFirstFace, [&] {
    make_systems(geometry, region);
    const auto numbers = static_cast<double>(of(0).size());
    grid.all().compute(solver::pass(numbers, 4, 40));
    // Above the diagonal, where no coupling is, the first one is new, too.
    grid.all().compute(
        {.kind = solver::kMemory, .bytes = (kColours - 0.5) * sizeof(double) * numbers});
  });
  const solver::BlockCyclic& columns = distribution().columns;
  for (int k = 0; k < columns.blocks(); ++k) {
    steps.in(kPanel, [&] {
      panels.begin(k, columns.size(k), kColours);
      if (columns.owner_of_block(k) == columns.mine) factor_panel(k, panels, grid, steps);
    });
    panels.share(columns.owner_of_block(k));
    steps.in(kPanel, [&] { keep_panel(k, panels); });
    const auto in = steps.in(kUpdate);
    for (int q = 0; q < kColours; ++q) {
      grid.all().compute(of(q).add(panels.product(q, -1)));
    }
  }
}

namespace {

// Vectors of the three colours.
using Vectors = std::array<std::vector<double>, kColours>;

class Substitution {
 public:
  Substitution(const Geometry& geometry, const Region& region, Couplings& couplings,
               LdlFactors& factors, comm::Grid& grid)
      : geometry_(geometry),
        region_(region),
        couplings_(couplings),
        factors_(factors),
        grid_(grid),
        to_subtract_(vectors(rows().my_count())),
        found_(vectors(rows().my_count())) {}

  void run() {
    start_from_first_face();
    for (int k = 0; k < rows().blocks(); ++k) forward(k);
    for (int k = rows().blocks() - 1; k >= 0; --k) backward(k);
  }
  std::vector<double> gather() {
    const Distribution& distribution = factors_.distribution();
    const std::vector<double> first = first_face_of_all();
    // All ranks of a row of the grid have found the same.
    std::vector<double> own;
    if (columns().mine == 0) {
      for (const std::vector<double>& one : found_) own.insert(own.end(), one.begin(), one.end());
    }
    const comm::Parts<double> parts = comm::gather_varying(grid_.all(), own, 0);
    if (grid_.all().rank() != 0) return {};
    const auto n = static_cast<std::size_t>(distribution.patches());
    std::vector<double> radiosities(kColours * n);
    const double* from = parts.values.data();
    for (int part = 0; part < rows().parts; ++part) {
      for (std::size_t q = 0; q < kColours; ++q) {
        for (int b = part; b < rows().blocks(); from += rows().size(b), b += rows().parts) {
          std::copy_n(from, rows().size(b),
                      radiosities.begin() + static_cast<std::ptrdiff_t>(q * n) +
                          distribution.first_face + rows().begin(b));
        }
      }
    }
    // x1 = D^-1 (y1 - C12 x2).
    const double* product = first.data();
    for (int q = 0; q < kColours; ++q) {
      for (int i = 0; i < distribution.first_face; ++i) {
        radiosities[q * n + i] = epsilon(q, i) + rho(q, i) / couplings_.sums()[i] * *product++;
      }
    }
    return radiosities;
  }

 private:
  static Vectors vectors(int size) {
    Vectors all;
    for (std::vector<double>& one : all) one.assign(size, 0);
    return all;
  }
  const solver::BlockCyclic& rows() const { return factors_.distribution().rows; }
  const solver::BlockCyclic& columns() const { return factors_.distribution().columns; }
  bool in_row_of(int k) const { return rows().owner_of_block(k) == rows().mine; }
  bool in_column_of(int k) const { return columns().owner_of_block(k) == columns().mine; }
  double rho(int q, int patch) const { return of_face(geometry_.reflectivity, q, patch); }
  double epsilon(int q, int patch) const { return of_face(geometry_.emissivity, q, patch); }
  double of_face(const std::array<Faces, kColours>& values, int q, int patch) const {
    const int face = region_.patches[patch].face;
    return values[q][face];
  }
  double* part_of(int q) { return part_.data() + static_cast<std::ptrdiff_t>(q) * size_; }

  // y2 - C21 D^-1 y1, where D = -S / rho and y1 = -S epsilon / rho.
  void start_from_first_face() {
    const solver::BlockCyclic& first = factors_.distribution().first;
    if (first.my_count() == 0 || rows().my_count() == 0) return;
    for (int q = 0; q < kColours; ++q) {
      const std::vector<double> light(first.my_count(), epsilon(q, 0));
      cblas_dgemv(CblasColMajor, CblasNoTrans, rows().my_count(), first.my_count(), 1,
                  couplings_.first(), static_cast<int>(couplings_.ld_first()), light.data(), 1, 1,
                  to_subtract_[q].data(), 1);
    }
  }

  void forward(int k) {
    size_ = rows().size(k);
    part_.assign(kColours * size_, 0);
    const int begin = rows().indices_before(k);
    if (in_row_of(k)) {
      for (int q = 0; q < kColours; ++q) {
        std::copy_n(to_subtract_[q].begin() + begin, size_, part_of(q));
      }
      comm::reduce(grid_.row(), part_, comm::Operation::sum, columns().owner_of_block(k));
    }
    if (in_row_of(k) && in_column_of(k)) {
      subtract_from_right_side(k);
      solve_diagonal(k, false);
      for (int q = 0; q < kColours; ++q) {
        const double* const d = factors_.of(q).at(k, k);
        const std::size_t ld = factors_.of(q).ld(k);
        for (int i = 0; i < size_; ++i) {
          found_[q][begin + i] = part_of(q)[i] / d[static_cast<std::size_t>(i) * (ld + 1)];
        }
      }
    }
    if (!in_column_of(k)) return;
    comm::broadcast(grid_.column(), part_, rows().owner_of_block(k));
    multiply_below(k, false);
  }

  void backward(int k) {
    size_ = rows().size(k);
    part_.resize(kColours * size_);
    const int begin = rows().indices_before(k);
    if (in_column_of(k)) {
      multiply_below(k, true);
      comm::reduce(grid_.column(), part_, comm::Operation::sum, rows().owner_of_block(k));
    }
    if (!in_row_of(k)) return;
    if (in_column_of(k)) {
      for (int q = 0; q < kColours; ++q) {
        const double* const found = found_[q].data() + begin;
        for (int i = 0; i < size_; ++i) part_of(q)[i] = found[i] - part_of(q)[i];
      }
      solve_diagonal(k, true);
    }
    comm::broadcast(grid_.row(), part_, columns().owner_of_block(k));
    for (int q = 0; q < kColours; ++q) {
      std::copy_n(part_of(q), size_, found_[q].begin() + begin);
    }
  }

  // part := y - part, y = -S epsilon / rho.
  void subtract_from_right_side(int k) {
    for (int q = 0; q < kColours; ++q) {
      for (int i = 0; i < size_; ++i) {
        const int patch = factors_.distribution().first_face + rows().begin(k) + i;
        const double sum = couplings_.sums()[patch];
        part_of(q)[i] = -sum * epsilon(q, patch) / rho(q, patch) - part_of(q)[i];
      }
    }
  }

  // With this rank's rows below block k: to_subtract += L part; transposed: part := L^T found.
  void multiply_below(int k, bool transposed) {
    const int begin = rows().indices_before(k + 1), count = rows().my_count() - begin;
    if (transposed) std::ranges::fill(part_, 0);
    if (count == 0) return;
    for (int q = 0; q < kColours; ++q) {
      grid_.all().compute(solver::pass(static_cast<double>(count) * size_, 2));
      LowerPart& factor = factors_.of(q);
      double* const rest = (transposed ? found_ : to_subtract_)[q].data() + begin;
      cblas_dgemv(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, count, size_, 1,
                  factor.at(k + 1, k), static_cast<int>(factor.ld(k)),
                  transposed ? rest : part_of(q), 1, 1, transposed ? part_of(q) : rest, 1);
    }
  }

  void solve_diagonal(int k, bool transposed) {
    for (int q = 0; q < kColours; ++q) {
      cblas_dtrsv(CblasColMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasUnit,
                  size_, factors_.of(q).at(k, k), static_cast<int>(factors_.of(q).ld(k)),
                  part_of(q), 1);
    }
  }

  // Returns C12 times the solution on rank 0, colour by colour.
  std::vector<double> first_face_of_all() {
    const Distribution& distribution = factors_.distribution();
    const solver::BlockCyclic& first = distribution.first;
    const auto count = static_cast<std::size_t>(distribution.first_face);
    std::vector<double> all(kColours * count), own(first.my_count());
    for (std::size_t q = 0; q < kColours; ++q) {
      if (rows().my_count() > 0 && first.my_count() > 0) {
        grid_.all().compute(
            solver::pass(static_cast<double>(rows().my_count()) * first.my_count(), 2));
        cblas_dgemv(CblasColMajor, CblasTrans, rows().my_count(), first.my_count(), 1,
                    couplings_.first(), static_cast<int>(couplings_.ld_first()), found_[q].data(),
                    1, 0, own.data(), 1);
      }
      for (int b = 0; b < first.blocks(); ++b) {
        if (first.owner_of_block(b) != first.mine) continue;
        std::copy_n(own.begin() + first.indices_before(b), first.size(b),
                    all.begin() + static_cast<std::ptrdiff_t>(q * count) + first.begin(b));
      }
    }
    comm::reduce(grid_.all(), all, comm::Operation::sum, 0);
    return all;
  }

  const Geometry& geometry_;
  const Region& region_;
  Couplings& couplings_;
  LdlFactors& factors_;
  comm::Grid& grid_;
  // This rank's rows: what its columns add up to, and D^-1 L^-1 y and then the solution.
  Vectors to_subtract_, found_;
  std::vector<double> part_;  // block k of the three vectors
  int size_ = 0;              // of block k
};

}  // namespace

std::vector<double> substitute(const Geometry& geometry, const Region& region, Couplings& couplings,
                               LdlFactors& factors, comm::Grid& grid, comm::Steps& steps) {
  Substitution substitution(geometry, region, couplings, factors, grid);
  steps.in(kSubstitution, [&] { substitution.run(); });
  return steps.in(kGather, [&] { return substitution.gather(); });
}

}  // namespace tabane::slalom
