#include <algorithm>

#include "tabane/tools/slalom/setup.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/slalom/couplings.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/contrib/math/math-inl.h>

#include "tabane/simd/dispatch.h"

#ifndef TABANE_WORKLOADS_SLALOM_COUPLINGS_ONCE
#define TABANE_WORKLOADS_SLALOM_COUPLINGS_ONCE
namespace tabane::slalom {

// The position of two faces, seen from the face of the rows.
enum class Orientation {
  parallel,
  along_width,
  along_height
};  // the common axis, of the rows' face

// The coordinates of an edge of `columns`, moved so that those that become distances begin at the
// other face's plane.
struct EdgePair {
  Orientation orientation;
  double h, w0, w1;     // of the edge
  double plane, depth;  // to be taken from the rows' distances; between opposite faces
};

constexpr std::size_t kEdgeSpace = 16;  // more numbers than any vector has

}  // namespace tabane::slalom
#endif

HWY_BEFORE_NAMESPACE();
namespace tabane::slalom::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// H(c, d) = 4 c d atan(c/d) + (c^2 - d^2) ln(c^2 + d^2), d2 = d^2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V perpendicular_term(D d_, V c, V d, V d2) {
  const V c2 = hn::Mul(c, c);
  const V angle = hn::Atan(d_, hn::Div(c, d));
  const V logarithm = hn::Log(d_, hn::Add(c2, d2));
  return hn::MulAdd(hn::Mul(hn::Set(d_, 4.0), hn::Mul(c, d)), angle,
                    hn::Mul(hn::Sub(c2, d2), logarithm));
}

// Of c in {c0, c1} and d^2 in {p, q}: the differences in both.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V perpendicular_terms(D d, V c0, V c1, V p, V q) {
  const V root_p = hn::Sqrt(p), root_q = hn::Sqrt(q);
  return hn::Sub(
      hn::Sub(perpendicular_term(d, c0, root_p, p), perpendicular_term(d, c1, root_p, p)),
      hn::Sub(perpendicular_term(d, c0, root_q, q), perpendicular_term(d, c1, root_q, q)));
}

// G(x, y) = 4 (x u atan(x/u) + y v atan(y/v)) - 2 z^2 ln(x^2 + u^2); u^2 = y^2 + z^2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V parallel_term(D d, V x, V y, V u, V u2, V z2) {
  const V x2 = hn::Mul(x, x);
  const V v = hn::Sqrt(hn::Add(x2, z2));
  const V angles = hn::MulAdd(hn::Mul(x, u), hn::Atan(d, hn::Div(x, u)),
                              hn::Mul(hn::Mul(y, v), hn::Atan(d, hn::Div(y, v))));
  return hn::NegMulAdd(hn::Mul(hn::Set(d, 2.0), z2), hn::Log(d, hn::Add(x2, u2)),
                       hn::Mul(hn::Set(d, 4.0), angles));
}

// The potential of one edge of the columns against all edges of the rows, as the difference over
// the four pairs of sides.
struct Potential {
  EdgePair edge;

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V parallel(D d, V h, V w0, V w1) const {
    const V y = hn::Sub(h, hn::Set(d, edge.h));
    const V z2 = hn::Set(d, edge.depth * edge.depth);
    const V u2 = hn::MulAdd(y, y, z2), u = hn::Sqrt(u2);
    const auto term = [&](V w, double side) HWY_ATTR {
      return parallel_term(d, hn::Sub(w, hn::Set(d, side)), y, u, u2, z2);
    };
    return hn::Sub(hn::Sub(term(w0, edge.w0), term(w1, edge.w0)),
                   hn::Sub(term(w0, edge.w1), term(w1, edge.w1)));
  }

  // The width of the rows' face and the height of the columns' are along the common axis.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V along_width(D d, V h, V w0, V w1) const {
    const V e = hn::Set(d, edge.h);
    const V distance = hn::Sub(h, hn::Set(d, edge.plane));
    const V squared = hn::MulAdd(distance, distance, hn::Set(d, 1e-35));
    return perpendicular_terms(d, hn::Sub(w0, e), hn::Sub(w1, e),
                               hn::Add(squared, hn::Set(d, edge.w0 * edge.w0)),
                               hn::Add(squared, hn::Set(d, edge.w1 * edge.w1)));
  }

  // The height of the rows' face and the width of the columns' are along it.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V along_height(D d, V h, V w0, V w1) const {
    const V plane = hn::Set(d, edge.plane);
    const V p = hn::Sub(w0, plane), q = hn::Sub(w1, plane);
    const V squared = hn::Set(d, edge.h * edge.h + 1e-35);
    return perpendicular_terms(d, hn::Sub(h, hn::Set(d, edge.w0)), hn::Sub(h, hn::Set(d, edge.w1)),
                               hn::MulAdd(p, p, squared), hn::MulAdd(q, q, squared));
  }
};

// Each arithmetic operation below is on `edges` numbers; the functions dominate by far.
void fill_potential(const EdgePair& pair, const EdgeRun& rows, double* HWY_RESTRICT out) {
  const hn::ScalableTag<double> d;
  const Potential potential{pair};
  const auto each = [&](auto&& function) HWY_ATTR {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.edges); i += hn::Lanes(d)) {
      hn::StoreU(function(hn::LoadU(d, rows.h.data() + i), hn::LoadU(d, rows.w0.data() + i),
                          hn::LoadU(d, rows.w1.data() + i)),
                 d, out + i);
    }
  };
  using V = hn::Vec<decltype(d)>;
  switch (pair.orientation) {
    case Orientation::parallel:
      return each([&](V h, V w0, V w1) HWY_ATTR { return potential.parallel(d, h, w0, w1); });
    case Orientation::along_width:
      return each([&](V h, V w0, V w1) HWY_ATTR { return potential.along_width(d, h, w0, w1); });
    case Orientation::along_height:
      return each([&](V h, V w0, V w1) HWY_ATTR { return potential.along_height(d, h, w0, w1); });
  }
}

// The couplings of one patch of the columns: differences of the potentials of its two edges, and of
// those along the rows. They are positive, but the sign of the perpendicular potential is not.
void take_differences(const EdgeRun& rows, const double* HWY_RESTRICT low,
                      const double* HWY_RESTRICT high, double* HWY_RESTRICT out) {
  for (const EdgeRun::Segment& segment : rows.segments) {
    const double* const a = low + segment.edge;
    const double* const b = high + segment.edge;
    double* const to = out + segment.patch;
    for (int i = 0; i < segment.patches; ++i) {
      const double difference = (b[i + 1] - a[i + 1]) - (b[i] - a[i]);
      to[i] = difference < 0 ? -difference : difference;
    }
  }
}

}  // namespace tabane::slalom::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::slalom {
namespace {

HWY_EXPORT(fill_potential);
HWY_EXPORT(take_differences);

Orientation orientation_of(int rows, int columns) {
  if (rows % 3 == columns % 3) return Orientation::parallel;
  return rows % 3 == (columns + 1) % 3 ? Orientation::along_width : Orientation::along_height;
}

EdgePair pair_of(const Geometry& geometry, const EdgeRun& rows, const EdgeRun& columns,
                 std::size_t edge) {
  EdgePair pair{orientation_of(rows.face, columns.face),
                columns.h[edge],
                columns.w0[edge],
                columns.w1[edge],
                geometry.depth(columns.face),
                0};
  const double plane = geometry.depth(rows.face);
  switch (pair.orientation) {
    case Orientation::parallel:
      pair.depth = pair.plane - plane;
      break;
    case Orientation::along_width:
      pair.w0 -= plane;
      pair.w1 -= plane;
      break;
    case Orientation::along_height:
      pair.h -= plane;
      break;
  }
  return pair;
}

void add_patch(EdgeRun& run, const Patch& patch, bool continues) {
  const auto add_edge = [&](double h) {
    run.h.push_back(h);
    run.w0.push_back(patch.w);
    run.w1.push_back(patch.w + patch.width);
    ++run.edges;
  };
  if (!continues) {
    run.segments.push_back({run.count, 0, run.edges});
    add_edge(patch.h);
  }
  add_edge(patch.h + patch.height);
  ++run.segments.back().patches;
  ++run.count;
}

}  // namespace

std::vector<EdgeRun> edge_runs(const Region& region, int first, int count) {
  std::vector<EdgeRun> runs;
  for (int i = first; i < first + count; ++i) {
    const Patch& patch = region.patches[i];
    const Patch* const before =
        i == first ? nullptr : &region.patches[static_cast<std::size_t>(i) - 1];
    const bool same_face = before != nullptr && before->face == patch.face;
    if (!same_face) runs.push_back({.face = patch.face, .first = i});
    add_patch(runs.back(), patch, same_face && before->column == patch.column);
  }
  for (EdgeRun& run : runs) {
    // Vectors reach beyond the last edge: numbers there are computed, but not used.
    for (std::vector<double>* values : {&run.h, &run.w0, &run.w1}) {
      values->resize(values->size() + kEdgeSpace, 0.5);
    }
  }
  return runs;
}

void fill_couplings(const Geometry& geometry, const EdgeRun& rows, const EdgeRun& columns,
                    double* block, std::size_t ld, CouplingSpace& space) {
  if (rows.face == columns.face) {
    for (int j = 0; j < columns.count; ++j) {
      std::fill_n(block + static_cast<std::size_t>(j) * ld, rows.count, 0.0);
    }
    return;
  }
  space.previous.resize(static_cast<std::size_t>(rows.edges) + kEdgeSpace);
  space.next.resize(space.previous.size());
  for (const EdgeRun::Segment& segment : columns.segments) {
    for (int i = 0; i <= segment.patches; ++i) {
      const auto edge = static_cast<std::size_t>(segment.edge + i);
      TABANE_DISPATCH(fill_potential)
      (pair_of(geometry, rows, columns, edge), rows, space.next.data());
      if (i > 0) {
        TABANE_DISPATCH(take_differences)
        (rows, space.previous.data(), space.next.data(),
         block + static_cast<std::size_t>(segment.patch + i - 1) * ld);
      }
      std::swap(space.previous, space.next);
    }
  }
}

}  // namespace tabane::slalom
#endif
