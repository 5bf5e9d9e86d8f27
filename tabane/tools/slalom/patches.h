// The faces of a box cut into patches of about the same area.
#pragma once

#include <array>
#include <vector>

#include "tabane/tools/slalom/geometry.h"

namespace tabane::slalom {

// A rectangle in the coordinates of its face: w along its width, h along its height.
struct Patch {
  int face = 0;
  int column = 0;  // of its face; the patches of a column follow each other along h
  double w = 0, h = 0, width = 0, height = 0;

  double area() const { return width * height; }
};

struct Region {
  std::array<int, kFaces + 1> begin{};  // of each face's patches; the last is their number
  std::vector<Patch> patches;           // face by face, and on a face column by column

  int count(int face) const {
    return begin[static_cast<std::size_t>(face) + 1] - begin[static_cast<std::size_t>(face)];
  }
  int size() const { return begin.back(); }
};

// Patches per face by area, in the sense of Region::begin. A face may have none.
std::array<int, kFaces + 1> share_patches(const Geometry& geometry, int patches);
// Columns of a face with that many patches.
int columns_of_face(const Geometry& geometry, int face, int patches);

// patches: at least 6. throws: core::UsageError if a face or a column would have no patch, as in
// an eccentric box.
Region cut_into_patches(const Geometry& geometry, int patches);

}  // namespace tabane::slalom
