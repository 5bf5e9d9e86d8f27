// Couplings C_ij = 8 pi A_i F_ij between patches of a box: how much of the light that leaves one
// patch reaches the other, times its area.
//
// They are differences of a potential at the corners of the two patches, 16 terms each. Patches of
// a column share their edges, so the potential is computed once per pair of edges, 4 terms, and not
// once per corner:
//
//   pairs of patches            terms per pair   functions per term
//   on opposite faces           4 (instead of 16)   2 atan, 1 log
//   on faces with an edge       4 (instead of 16)   1 atan, 1 log
#pragma once

#include <cstddef>
#include <vector>

#include "tabane/tools/slalom/geometry.h"

namespace tabane::slalom {

// Patches [first, first + count) of one face, with the edges between them.
struct EdgeRun {
  // A part of a column: `patches` patches from number `patch` of the run on, whose edges begin at
  // number `edge`; there is one edge more.
  struct Segment {
    int patch, patches, edge;
  };
  int face = 0, first = 0, count = 0;
  std::vector<Segment> segments;
  // By edge: its h, and w of both sides of its column. With room for a vector at the end.
  std::vector<double> h, w0, w1;
  int edges = 0;
};

// Cuts patches [first, first + count) into runs, face by face.
std::vector<EdgeRun> edge_runs(const Region& region, int first, int count);

// Space for one thread's work.
struct CouplingSpace {
  std::vector<double> previous, next;
};

// Writes the couplings of the runs' patches: those of `rows` down the column, those of `columns`
// one column after the other, `ld` numbers apart. 0 for patches of one face.
void fill_couplings(const Geometry& geometry, const EdgeRun& rows, const EdgeRun& columns,
                    double* block, std::size_t ld, CouplingSpace& space);

}  // namespace tabane::slalom
