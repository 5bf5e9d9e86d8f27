// What becomes of the radiosities: their check, a text and a picture.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tabane/solver/picture.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/slalom/geometry.h"
#include "tabane/tools/slalom/setup.h"

namespace tabane::slalom {

// Checks radiosities: returns the largest r of a colour, the sum over its rows of |y - M x|_i /
// |m_ii|, over max |x|. The benchmark divides by max |m| of all rows instead, and takes that and
// max |x| from the last colour: it sees no error in a colour that is much darker, and sees one
// where there is none in a brighter.
//
// Why that suffices: in row i of M = C - S / rho the diagonal, S_i / rho_i, is larger than all else
// together, which is S_i. So for the true solution x* of a colour
//   max |x - x*| <= max |y - M x|_i / (|m_ii| (1 - rho_i)) <= r max |x| / (1 - max rho):
// what passes is right to 1000 r at most, and to 100 r in the benchmark's box. The couplings are
// computed again, block by block, so an element that was put in a wrong place or overwritten shows,
// too; that they are right is what their row sums say.
//
// radiosities: of all patches, colour by colour, the same on all ranks; sums: rows of C. All ranks
// call it; the result is the same on all. cost: that of the set-up.
solver::Check verify(const Geometry& geometry, const Region& region,
                     const Distribution& distribution, const std::vector<double>& sums,
                     const std::vector<double>& radiosities, comm::Comm& all);

// Returns the text of the file "answer": patches and their radiosities. radiosities: of all
// patches, colour by colour.
std::string answer_text(const Geometry& geometry, const Region& region,
                        std::span<const double> radiosities);

// Draws the inside of the box in perspective, through the open third face: the first face is the
// ceiling, the second the wall on the left. Radiosities run smoothly from the centre of a patch to
// the next. radiosities: of all patches, colour by colour. width: in pixels.
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
