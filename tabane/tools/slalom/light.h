// A picture of the light in the box.
#pragma once

#include <span>

#include "tabane/solver/picture.h"
#include "tabane/tools/slalom/patches.h"

namespace tabane::slalom {

// The inside of the box in perspective, through the open third face: the first face is the ceiling,
// the second the wall on the left. Radiosities run smoothly from the centre of a patch to the next.
// radiosities: of all patches, colour by colour. width: in pixels.
solver::Picture picture_of_light(const Geometry& geometry, const Region& region,
                                 std::span<const double> radiosities, int width = 1200);

// The radiosity of one colour at a place of a face: linear between the centres of patches, and on
// to the edges of the face. radiosities: of that colour.
class SmoothFace {
 public:
  SmoothFace(const Geometry& geometry, const Region& region, int face);
  double at(std::span<const double> radiosities, double w, double h) const;

 private:
  struct Column {
    int first, rows;
  };
  double of_column(std::span<const double> radiosities, int column, double h) const;

  double width_, height_;  // of the face
  std::vector<Column> columns_;
};

}  // namespace tabane::slalom
