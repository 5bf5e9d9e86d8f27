#include "tabane/tools/slalom/model.h"

#include <algorithm>
#include <cmath>

#include "tabane/tools/slalom/factorise.h"

namespace tabane::slalom {

double counted_operations(const Geometry& geometry, int patches, Revision revision) {
  const std::array<int, kFaces + 1> begin = share_patches(geometry, patches);
  std::array<double, kFaces> p{};
  double squares = 0, columns = 0;
  for (int face = 0; face < kFaces; ++face) {
    const auto i = static_cast<std::size_t>(face);
    p[i] = begin[i + 1] - begin[i];
    squares += p[i] * p[i];
    columns += std::floor(std::sqrt(p[i] * geometry.width(face) / geometry.height(face)) + 0.5);
  }
  const double n = patches, f = p[0] + 1;
  const double opposite = p[0] * p[3] + p[1] * p[4] + p[2] * p[5];
  const double adjacent = (n * n - squares - 2 * opposite) / 2;
  const double reader = 258, region = 154 + 8 * columns + n, storer = 48 * n;
  const double set_up = revision == Revision::r126 ? 6 + 532 * opposite + 8 * n + 370 * adjacent
                                                   : 3 + 840 * opposite + 430 * adjacent;
  const double systems = 72 + 9 * n + n * n - squares;
  const double solver = n * n * n + 7.5 * n * n - 2.5 * n - 21 + f * (2 * f * f - 16.5 * f + 35.5) +
                        n * f * (9 - 3 * f);
  return reader + region + set_up + systems + solver + storer;
}

double performed_operations(int first_face, int patches) {
  const double rest = patches - first_face;
  return rest * rest * patches;
}

std::size_t bytes_of_ranks(const Geometry& geometry, int patches, comm::GridShape grid, int block) {
  const int first_face = share_patches(geometry, patches)[1];
  if (block == 0) block = default_block(patches - first_face, grid);
  std::size_t bytes = 0;
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      const Distribution part = distribute(first_face, patches, grid, row, column, block);
      bytes += Couplings::bytes(part) + Factors::bytes(part) + PanelExchange::bytes(part, kColours);
    }
  }
  return bytes;
}

int most_patches(const Geometry& geometry, double bytes, comm::GridShape grid, int block) {
  int fit = 0, too_many = 1 << 20;
  while (too_many - fit > 1) {
    const int middle = fit + (too_many - fit) / 2;
    (static_cast<double>(bytes_of_ranks(geometry, middle, grid, block)) <= bytes ? fit : too_many) =
        middle;
  }
  return fit;
}

}  // namespace tabane::slalom
