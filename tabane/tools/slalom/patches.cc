#include "tabane/tools/slalom/patches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tabane/core/error.h"

namespace tabane::slalom {
namespace {

constexpr int kLeastPatches = 6;

[[noreturn]] void refuse_eccentric(const Geometry& geometry, int patches) {
  throw core::UsageError(
      fmt::format("an eccentric box ({} x {} x {}) requires more patches than {}", geometry.box[0],
                  geometry.box[1], geometry.box[2], patches));
}

}  // namespace

std::array<int, kFaces + 1> share_patches(const Geometry& geometry, int patches) {
  double whole = 0;
  for (int face = 0; face < kFaces; ++face) whole += geometry.width(face) * geometry.height(face);
  std::array<int, kFaces + 1> begin{};
  double until = 0;
  for (int face = 0; face < kFaces; ++face) {
    until += geometry.width(face) * geometry.height(face);
    begin[static_cast<std::size_t>(face) + 1] =
        static_cast<int>(std::floor(patches * until / whole + 0.5));
  }
  begin.back() = patches;
  return begin;
}

int columns_of_face(const Geometry& geometry, int face, int patches) {
  const double ratio = geometry.width(face) / geometry.height(face);
  return std::clamp(static_cast<int>(std::floor(std::sqrt(patches * ratio) + 0.5)), 1,
                    std::max(patches, 1));
}

Region cut_into_patches(const Geometry& geometry, int patches) {
  if (patches < kLeastPatches) {
    throw core::UsageError(
        fmt::format("{} patches do not cover 6 faces: give at least {}", patches, kLeastPatches));
  }
  Region region{.begin = share_patches(geometry, patches), .patches = {}};
  region.patches.reserve(static_cast<std::size_t>(patches));
  for (int face = 0; face < kFaces; ++face) {
    const std::int64_t count = region.count(face);
    if (count < 1) refuse_eccentric(geometry, patches);
    const int columns = columns_of_face(geometry, face, static_cast<int>(count));
    const double width = geometry.width(face) / columns;
    for (int column = 0; column < columns; ++column) {
      const auto row_begin = [&](std::int64_t k) { return (columns - 1 + k * count) / columns; };
      const auto rows = static_cast<int>(row_begin(column + 1) - row_begin(column));
      if (rows < 1) refuse_eccentric(geometry, patches);
      const double height = geometry.height(face) / rows;
      for (int row = 0; row < rows; ++row) {
        region.patches.push_back({face, column, column * width, row * height, width, height});
      }
    }
  }
  return region;
}

}  // namespace tabane::slalom
