#include "tabane/tools/slalom/factorise.h"

#include <algorithm>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"
#include "tabane/tools/slalom/factor_block.h"

namespace tabane::slalom {

Factors::Factors(Couplings& couplings)
    : couplings_(couplings),
      others_{{{distribution().rows, distribution().columns},
               {distribution().rows, distribution().columns}}} {}

std::size_t Factors::bytes(const Distribution& distribution) {
  return (kColours - 1) * LowerPart::bytes(distribution.rows, distribution.columns);
}

LowerPart& Factors::of(int colour) {
  return colour == 0 ? couplings_.rest() : others_[static_cast<std::size_t>(colour) - 1];
}

// K = C21 diag(1 / S) C12, in the place of the second system.
void Factors::eliminate_first_face(PanelExchange& panels, comm::Steps& steps) {
  const BlockCyclic& first = distribution().first;
  for (int b = 0; b < first.blocks(); ++b) {
    const int size = first.size(b);
    {
      const auto in = steps.in(kFirstFace);
      panels.begin(-1, size, 1);
      if (first.owner(b) == first.mine) {
        const double* from =
            couplings_.first() +
            static_cast<std::size_t>(first.indices_before(b)) * couplings_.ld_first();
        double* to = panels.left(0);
        for (int j = 0; j < size; ++j, from += couplings_.ld_first(), to += panels.ld()) {
          std::copy_n(from, panels.rows(), to);
        }
      }
      for (int j = 0; j < size; ++j) {
        panels.scales(0)[static_cast<std::size_t>(j)] =
            1 / couplings_.sums()[static_cast<std::size_t>(first.begin(b) + j)];
      }
    }
    panels.share(first.owner(b));
    const auto in = steps.in(kFirstFace);
    panels.scale(0);
    of(1).add_product(-1, 1, size, panels.left(0), panels.ld(), panels.right(0), panels.ld_right());
  }
}

// M^q behind the first face = C22 - diag(S / rho^q) + rho^q of the first face K, in place.
// cost: per number 4 operations, 16 B read and 24 B written.
void Factors::make_systems(const Geometry& geometry, const Region& region) {
  const auto rho = [&](int colour, int face) {
    return geometry.reflectivity[static_cast<std::size_t>(colour)][static_cast<std::size_t>(face)];
  };
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
  const BlockCyclic& rows = distribution().rows;
  const BlockCyclic& columns = distribution().columns;
  for (int colour = 0; colour < kColours; ++colour) {
    for (int b = 0; b < rows.blocks(); ++b) {
      if (rows.owner(b) != rows.mine || columns.owner(b) != columns.mine) continue;
      for (int i = 0; i < rows.size(b); ++i) {
        const auto patch = static_cast<std::size_t>(distribution().first_face + rows.begin(b) + i);
        of(colour).at(b, b)[static_cast<std::size_t>(i) * (of(colour).ld(b) + 1)] -=
            couplings_.sums()[patch] / rho(colour, region.patches[patch].face);
      }
    }
  }
}

// X = A L^-T of the rows below, L and D from the block on the diagonal.
void Factors::factor_panel(int k, PanelExchange& panels, comm::Grid& grid, comm::Steps& steps) {
  const BlockCyclic& rows = distribution().rows;
  const int size = rows.size(k);
  const auto numbers = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  diagonal_.resize(numbers * kColours);
  const auto block = [&](int q) {
    return diagonal_.data() + numbers * static_cast<std::size_t>(q);
  };
  if (rows.owner(k) == rows.mine) {
    for (int q = 0; q < kColours; ++q) {
      double* const a = of(q).at(k, k);
      const std::size_t ld = of(q).ld(k);
      factor_block(a, size, ld, space_);
      for (int j = 0; j < size; ++j) {
        std::copy_n(a + static_cast<std::size_t>(j) * ld, size, block(q) + j * size);
      }
    }
  }
  {
    const auto in = steps.in(kBroadcast);
    comm::broadcast(grid.column(), diagonal_, rows.owner(k));
  }
  for (int q = 0; q < kColours; ++q) {
    for (int j = 0; j < size; ++j) {
      panels.scales(q)[static_cast<std::size_t>(j)] = 1 / block(q)[j * (size + 1)];
    }
    if (panels.rows() == 0) continue;
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
void Factors::keep_panel(int k, PanelExchange& panels) {
  const bool owner = distribution().columns.owner(k) == distribution().columns.mine;
  for (int q = 0; q < kColours; ++q) {
    if (owner && panels.rows() > 0) {
      panels.scale(q, of(q).at(k + 1, k), of(q).ld(k));
    } else {
      panels.scale(q);
    }
  }
}

void Factors::compute(const Geometry& geometry, const Region& region, comm::Grid& grid,
                      comm::Steps& steps) {
  PanelExchange panels(grid, steps, distribution(), kColours);
  eliminate_first_face(panels, steps);
  {
    const auto in = steps.in(kFirstFace);
    make_systems(geometry, region);
  }
  const BlockCyclic& columns = distribution().columns;
  for (int k = 0; k < columns.blocks(); ++k) {
    {
      const auto in = steps.in(kPanel);
      panels.begin(k, columns.size(k), kColours);
      if (columns.owner(k) == columns.mine) factor_panel(k, panels, grid, steps);
    }
    panels.share(columns.owner(k));
    {
      const auto in = steps.in(kPanel);
      keep_panel(k, panels);
    }
    const auto in = steps.in(kUpdate);
    for (int q = 0; q < kColours; ++q) {
      of(q).add_product(k, -1, columns.size(k), panels.left(q), panels.ld(), panels.right(q),
                        panels.ld_right());
    }
  }
}

}  // namespace tabane::slalom
