// The first pass of an iteration: p := r + beta p, and (p, A p).

#if defined(TABANE_SCALED_CG_DIRECTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_SCALED_CG_DIRECTION_INL_H_
#undef TABANE_SCALED_CG_DIRECTION_INL_H_
#else
#define TABANE_SCALED_CG_DIRECTION_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "tabane/workloads/scaled_cg/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::workloads::scaled_cg::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> combined(D d, const double* r, double beta, const double* p) {
  return hn::MulAdd(hn::Set(d, beta), hn::LoadU(d, p), hn::LoadU(d, r));
}

// What is added to the accumulators for element j and its vector: the square of the new p of this
// row, and, of the row above, the products over the edges to the south and to the west. That row is
// finished, so that no load waits for a store of this pass, and its elements serve both edges.
template <bool kCoupled, bool kTop, class D, class V = hn::Vec<D>>
struct DirectionRow {
  D d;
  const double* r;
  double beta;
  double* p;
  const double* above;  // p, east and south of the row above
  const double* east;
  const double* south;

  HWY_INLINE V edges(std::size_t j, V at, V north, V west, V sum) const {
    if constexpr (kCoupled) {
      const V flow = hn::MulAdd(hn::LoadU(d, south + j), at,
                                hn::Mul(hn::LoadU(d, east + j - 1), west));
      return hn::MulAdd(north, flow, sum);
    } else {
      return hn::MulAdd(north, hn::Add(at, west), sum);
    }
  }

  HWY_INLINE void add(std::size_t j, V& squares, V& products) const {
    const V at = combined(d, r + j, beta, p + j);
    hn::StoreU(at, d, p + j);
    squares = hn::MulAdd(at, at, squares);
    if constexpr (!kTop) {
      products = edges(j, at, hn::LoadU(d, above + j), hn::LoadU(d, above + j - 1), products);
    }
  }

  // The same for the first vector of a row, whose left neighbour is in the frame, and for the last,
  // of which `count` elements are in the row.
  HWY_INLINE void add_some(std::size_t j, std::size_t count, V& squares, V& products) const {
    const auto inside = hn::FirstN(d, count);
    const V at = hn::IfThenElseZero(inside, combined(d, r + j, beta, p + j));
    hn::BlendedStore(at, inside, d, p + j);
    squares = hn::MulAdd(at, at, squares);
    if constexpr (!kTop) {
      const V north = hn::IfThenElseZero(inside, hn::LoadU(d, above + j));
      V west = hn::LoadU(d, above + j - 1);
      if (j == 0) west = hn::IfThenZeroElse(hn::FirstN(d, 1), west);
      products = edges(j, at, north, west, products);
    }
  }
};

// Four vectors at a time: the chains of additions then take no longer than the loads.
template <class Row, class V>
HWY_INLINE void add_direction_row(const Row& row, std::size_t columns, V& s0, V& s1, V& s2, V& s3,
                                  V& e0, V& e1, V& e2, V& e3) {
  const std::size_t lanes = hn::Lanes(row.d);
  std::size_t j = HWY_MIN(lanes, columns);
  row.add_some(0, j, s0, e0);
  for (; j + 4 * lanes <= columns; j += 4 * lanes) {
    row.add(j, s0, e0);
    row.add(j + lanes, s1, e1);
    row.add(j + 2 * lanes, s2, e2);
    row.add(j + 3 * lanes, s3, e3);
  }
  for (; j + lanes <= columns; j += lanes) row.add(j, s1, e1);
  if (j < columns) row.add_some(j, columns - j, s2, e2);
}

// Returns the products over the edges along the last row, which no row below has taken.
template <bool kCoupled, class D>
HWY_INLINE hn::Vec<D> last_edges(D d, const double* p, const double* east, std::size_t columns) {
  auto sum = hn::Zero(d);
  for (std::size_t j = 1; j < columns; j += hn::Lanes(d)) {
    auto product = hn::Mul(hn::LoadU(d, p + j), hn::LoadU(d, p + j - 1));
    if constexpr (kCoupled) product = hn::Mul(product, hn::LoadU(d, east + j - 1));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, columns - j), product));
  }
  return sum;
}

//   per unknown        bytes, from where the vectors are    bytes, from the first-level cache
//   r[i, j]            8                                    8
//   p[i, j]            8 read, 8 written                    8 read, 8 written
//   p[i - 1, j]        -                                    8
//   p[i - 1, j - 1]    -                                    8
//   south[i - 1, j]    8, coupled                           8, coupled
//   east[i - 1, j - 1] 8, coupled                           8, coupled
//                      24, coupled 40                       40, coupled 56
//
// Operations: 2 for p, 2 for its square, 3 for the edges: 7, coupled 9.
template <bool kCoupled>
HWY_INLINE double direction(const Extent& extent, const double* r, double beta, double* p,
                            const Couplings& couplings) {
  const hn::ScalableTag<double> d;
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  auto e0 = hn::Zero(d), e1 = hn::Zero(d), e2 = hn::Zero(d), e3 = hn::Zero(d);
  const DirectionRow<kCoupled, true, decltype(d)> top{d, r, beta, p, p, nullptr, nullptr};
  add_direction_row(top, extent.columns, s0, s1, s2, s3, e0, e1, e2, e3);
  const double* east = couplings.east;
  const double* south = couplings.south;
  for (std::size_t i = 1; i < extent.rows; ++i) {
    const double* const above = p;
    r += extent.stride;
    p += extent.stride;
    const DirectionRow<kCoupled, false, decltype(d)> row{d, r, beta, p, above, east, south};
    add_direction_row(row, extent.columns, s0, s1, s2, s3, e0, e1, e2, e3);
    if constexpr (kCoupled) {
      east += extent.stride;
      south += extent.stride;
    }
  }
  const auto last = last_edges<kCoupled>(d, p, east, extent.columns);
  const auto squares = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  const auto edges = hn::Add(hn::Add(hn::Add(e0, e1), hn::Add(e2, e3)), last);
  const double twice = kCoupled ? 2 : 0.5;
  return hn::GetLane(hn::SumOfLanes(d, squares)) - twice * hn::GetLane(hn::SumOfLanes(d, edges));
}

}  // namespace tabane::workloads::scaled_cg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_SCALED_CG_DIRECTION_INL_H_
