// The two passes of an iteration over a block. Their sums are as good as if they were added in
// twice the precision.

#if defined(TABANE_SCG_PASSES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_SCG_PASSES_INL_H_
#undef TABANE_SCG_PASSES_INL_H_
#else
#define TABANE_SCG_PASSES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "tabane/tools/scg/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::scg::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sum + error += row, where error is what rounding took from the sum (Knuth's two-sum). The method
// feels how alpha and beta are rounded: with one running sum over 400 x 400 unknowns, wrong by
// 1e-13, it took 972 iterations instead of 894.
template <class V>
HWY_INLINE void add_row(V row, V& sum, V& error) {
  const V next = hn::Add(sum, row);
  const V added = hn::Sub(next, sum);
  error = hn::Add(error, hn::Add(hn::Sub(sum, hn::Sub(next, added)), hn::Sub(row, added)));
  sum = next;
}

template <class D>
HWY_INLINE hn::Vec<D> combined(D d, const double* r, double beta, const double* p) {
  return hn::MulAdd(hn::Set(d, beta), hn::LoadU(d, p), hn::LoadU(d, r));
}

// A row of p, and the sums that belong to the finished row above it: so no load waits for a store
// of this pass.
//
// One stencil: (p, A p) is a quarter of the sum of squared differences over all edges, those to the
// frame's 0 included. For smooth p, A p is small against p, and the sum of products would lose to
// cancellation what makes the method converge: at n = 400 a tenth more iterations. Added up are the
// edges from the row to the one above, and those of the row above to its west.
template <bool kTop, class D, class V = hn::Vec<D>>
struct UniformRow {
  D d;
  const double* r;
  double beta;
  double* p;
  const double* above;

  HWY_INLINE void add(std::size_t j, V& down, V& along) const {
    const V at = combined(d, r + j, beta, p + j);
    hn::StoreU(at, d, p + j);
    if constexpr (kTop) {
      down = hn::MulAdd(at, at, down);
    } else {
      const V north = hn::LoadU(d, above + j);
      const V vertical = hn::Sub(at, north);
      const V horizontal = hn::Sub(north, hn::LoadU(d, above + j - 1));
      down = hn::MulAdd(vertical, vertical, down);
      along = hn::MulAdd(horizontal, horizontal, along);
    }
  }

  // The same for the first vector of a row, whose western neighbour is in the frame, and for the
  // last, of which `count` elements are in the row.
  HWY_INLINE void add_some(std::size_t j, std::size_t count, V& down, V& along) const {
    const auto inside = hn::FirstN(d, count);
    const V at = hn::IfThenElseZero(inside, combined(d, r + j, beta, p + j));
    hn::BlendedStore(at, inside, d, p + j);
    if constexpr (kTop) {
      down = hn::MulAdd(at, at, down);
    } else {
      const V north = hn::IfThenElseZero(inside, hn::LoadU(d, above + j));
      V west = hn::IfThenElseZero(inside, hn::LoadU(d, above + j - 1));
      if (j == 0) west = hn::IfThenZeroElse(hn::FirstN(d, 1), west);
      const V vertical = hn::Sub(at, north), horizontal = hn::Sub(north, west);
      down = hn::MulAdd(vertical, vertical, down);
      along = hn::MulAdd(horizontal, horizontal, along);
    }
  }

  // To the east.
  HWY_INLINE double last_edge(std::size_t columns) const {
    return kTop ? 0 : above[columns - 1] * above[columns - 1];
  }
};

// With couplings, p A p of the row above, whose southern neighbours are the new p.
template <bool kTop, class D, class V = hn::Vec<D>>
struct CoupledRow {
  D d;
  const double* r;
  double beta;
  double* p;  // null: there is no such row, and p is 0
  const double* above;
  std::ptrdiff_t stride;
  const double* east;  // of the row above
  const double* south;
  bool second;  // the row above is the first: what is north of it is the frame
  std::size_t columns;

  HWY_INLINE V product(std::size_t j, V centre, V e, V w, V s) const {
    V sum = hn::NegMulAdd(hn::LoadU(d, east + j), e, centre);
    sum = hn::NegMulAdd(hn::LoadU(d, east + j - 1), w, sum);
    sum = hn::NegMulAdd(hn::LoadU(d, south + j), s, sum);
    if (second) return sum;
    return hn::NegMulAdd(hn::LoadU(d, south + j - stride), hn::LoadU(d, above + j - stride), sum);
  }

  HWY_INLINE void add(std::size_t j, V& sum, V& /*along*/) const {
    V at = hn::Zero(d);
    if (p != nullptr) {
      at = combined(d, r + j, beta, p + j);
      hn::StoreU(at, d, p + j);
    }
    if constexpr (!kTop) {
      const V centre = hn::LoadU(d, above + j);
      const V e = hn::LoadU(d, above + j + 1), w = hn::LoadU(d, above + j - 1);
      sum = hn::MulAdd(centre, product(j, centre, e, w, at), sum);
    }
  }

  HWY_INLINE void add_some(std::size_t j, std::size_t count, V& sum, V& /*along*/) const {
    const auto inside = hn::FirstN(d, count);
    V at = hn::Zero(d);
    if (p != nullptr) {
      at = hn::IfThenElseZero(inside, combined(d, r + j, beta, p + j));
      hn::BlendedStore(at, inside, d, p + j);
    }
    if constexpr (!kTop) {
      const V centre = hn::IfThenElseZero(inside, hn::LoadU(d, above + j));
      V e = hn::LoadU(d, above + j + 1), w = hn::LoadU(d, above + j - 1);
      if (j + count == columns) e = hn::IfThenElseZero(hn::FirstN(d, count - 1), e);
      if (j == 0) w = hn::IfThenZeroElse(hn::FirstN(d, 1), w);
      sum = hn::MulAdd(centre, product(j, centre, e, w, at), sum);
    }
  }

  HWY_INLINE double last_edge(std::size_t /*columns*/) const { return 0; }
};

// Four vectors at a time: the chains of additions then take no longer than the loads. The last
// vector, too, may need the care of add_some().
template <class Row, class V>
HWY_INLINE double add_direction_row(const Row& row, std::size_t columns, V& sum, V& error) {
  const auto d = row.d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  auto e0 = hn::Zero(d), e1 = hn::Zero(d), e2 = hn::Zero(d), e3 = hn::Zero(d);
  std::size_t j = HWY_MIN(lanes, columns);
  row.add_some(0, j, s0, e0);
  for (; j + 4 * lanes < columns; j += 4 * lanes) {
    row.add(j, s0, e0);
    row.add(j + lanes, s1, e1);
    row.add(j + 2 * lanes, s2, e2);
    row.add(j + 3 * lanes, s3, e3);
  }
  for (; j + lanes < columns; j += lanes) row.add(j, s1, e1);
  if (j < columns) row.add_some(j, columns - j, s2, e2);
  const auto squares = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  const auto edges = hn::Add(hn::Add(e0, e1), hn::Add(e2, e3));
  add_row(hn::Add(squares, edges), sum, error);
  return row.last_edge(columns);
}

// Returns the edges along the last row and to the frame south of it.
template <class D>
HWY_INLINE hn::Vec<D> last_row(D d, const double* p, std::size_t columns) {
  auto sum = hn::Zero(d);
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) {
    const auto inside = hn::FirstN(d, HWY_MIN(hn::Lanes(d), columns - j));
    const auto at = hn::IfThenElseZero(inside, hn::LoadU(d, p + j));
    auto west = hn::IfThenElseZero(inside, hn::LoadU(d, p + j - 1));
    if (j == 0) west = hn::IfThenZeroElse(hn::FirstN(d, 1), west);
    const auto horizontal = hn::Sub(at, west);
    sum = hn::MulAdd(at, at, hn::MulAdd(horizontal, horizontal, sum));
  }
  return sum;
}

template <class D>
HWY_INLINE double direction_by_differences(D d, const Extent& extent, const double* r, double beta,
                                           double* p) {
  const std::size_t columns = extent.columns;
  auto sum = hn::Zero(d), error = hn::Zero(d);
  const UniformRow<true, D> top{d, r, beta, p, p};
  double ends = add_direction_row(top, columns, sum, error);
  for (std::size_t i = 1; i < extent.rows; ++i) {
    const double* const above = p;
    r += extent.stride;
    p += extent.stride;
    const UniformRow<false, D> row{d, r, beta, p, above};
    ends += add_direction_row(row, columns, sum, error);
  }
  add_row(last_row(d, p, columns), sum, error);
  ends += p[columns - 1] * p[columns - 1];
  return 0.25 * (hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, error))) + ends);
}

template <class D>
HWY_INLINE double direction_by_products(D d, const Extent& extent, const double* r, double beta,
                                        double* p, const Couplings& couplings) {
  const std::size_t columns = extent.columns;
  auto sum = hn::Zero(d), error = hn::Zero(d);
  const CoupledRow<true, D> top{d, r, beta, p, p, 0, nullptr, nullptr, true, columns};
  add_direction_row(top, columns, sum, error);
  for (std::size_t i = 1; i <= extent.rows; ++i) {
    const auto above = (static_cast<std::ptrdiff_t>(i) - 1) * extent.stride;
    const bool exists = i < extent.rows;
    const CoupledRow<false, D> row{d,
                                   exists ? r + above + extent.stride : nullptr,
                                   beta,
                                   exists ? p + above + extent.stride : nullptr,
                                   p + above,
                                   extent.stride,
                                   couplings.east + above,
                                   couplings.south + above,
                                   i == 1,
                                   columns};
    add_direction_row(row, columns, sum, error);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, error)));
}

// The first pass: p := r + beta p, and (p, A p).
//
//   per unknown                bytes, from where the vectors are    from the first-level cache
//   r[i, j]                    8                                    8
//   p[i, j]                    8 read, 8 written                    8 read, 8 written
//   p[i - 1], its neighbours   -                                    16, coupled 32
//   couplings                  16, coupled                          32, coupled
//                              24, coupled 40                       40, coupled 88
//
// Operations: 2 for p, 3 for each edge, coupled 10: 8, coupled 12.
template <bool kCoupled>
HWY_INLINE double direction(const Extent& extent, const double* r, double beta, double* p,
                            const Couplings& couplings) {
  const hn::ScalableTag<double> d;
  if constexpr (kCoupled) return direction_by_products(d, extent, r, beta, p, couplings);
  return direction_by_differences(d, extent, r, beta, p);
}

template <bool kCoupled, bool kSolution, class D, class V = hn::Vec<D>>
struct UpdateRow {
  D d;
  const double* p;
  std::ptrdiff_t stride;
  const double* east;
  const double* south;
  double alpha;
  double* r;
  double* x;
  double of_p, of_r;

  // A p.
  HWY_INLINE V product(std::size_t j, V at) const {
    const V e = hn::LoadU(d, p + j + 1), w = hn::LoadU(d, p + j - 1);
    const V n = hn::LoadU(d, p - stride + j), s = hn::LoadU(d, p + stride + j);
    if constexpr (kCoupled) {
      V sum = hn::NegMulAdd(hn::LoadU(d, east + j), e, at);
      sum = hn::NegMulAdd(hn::LoadU(d, east + j - 1), w, sum);
      sum = hn::NegMulAdd(hn::LoadU(d, south + j), s, sum);
      return hn::NegMulAdd(hn::LoadU(d, south - stride + j), n, sum);
    } else {
      return hn::NegMulAdd(hn::Set(d, 0.25), hn::Add(hn::Add(e, w), hn::Add(n, s)), at);
    }
  }

  HWY_INLINE V new_x(std::size_t j, V at, V residual) const {
    const V more = hn::MulAdd(hn::Set(d, of_p), at, hn::LoadU(d, x + j));
    return hn::NegMulAdd(hn::Set(d, of_r), residual, more);
  }

  HWY_INLINE void add(std::size_t j, V& squares) const {
    const V at = hn::LoadU(d, p + j), residual = hn::LoadU(d, r + j);
    if constexpr (kSolution) hn::StoreU(new_x(j, at, residual), d, x + j);
    const V next = hn::NegMulAdd(hn::Set(d, alpha), product(j, at), residual);
    hn::StoreU(next, d, r + j);
    squares = hn::MulAdd(next, next, squares);
  }

  // The same for the last vector of a row, of which `count` elements are in the row.
  HWY_INLINE void add_some(std::size_t j, std::size_t count, V& squares) const {
    const auto inside = hn::FirstN(d, count);
    const V at = hn::LoadU(d, p + j), residual = hn::LoadU(d, r + j);
    if constexpr (kSolution) hn::BlendedStore(new_x(j, at, residual), inside, d, x + j);
    const V next = hn::NegMulAdd(hn::Set(d, alpha), product(j, at), residual);
    hn::BlendedStore(next, inside, d, r + j);
    const V counted = hn::IfThenElseZero(inside, next);
    squares = hn::MulAdd(counted, counted, squares);
  }
};

template <class Row, class V>
HWY_INLINE void add_update_row(const Row& row, std::size_t columns, V& sum, V& error) {
  const auto d = row.d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  std::size_t j = 0;
  for (; j + 4 * lanes <= columns; j += 4 * lanes) {
    row.add(j, s0);
    row.add(j + lanes, s1);
    row.add(j + 2 * lanes, s2);
    row.add(j + 3 * lanes, s3);
  }
  for (; j + lanes <= columns; j += lanes) row.add(j, s1);
  if (j < columns) row.add_some(j, columns - j, s2);
  add_row(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), sum, error);
}

// The second pass: r := r - alpha A p, (r, r), and at times x. From the last row to the first: the
// rows that the pass before has touched last are still near.
//
//   per unknown                bytes, from where the vectors are   from the first-level cache
//   p[i, j]                    8                                   8
//   its four neighbours        -                                   32
//   r[i, j]                    8 read, 8 written                   8 read, 8 written
//   x[i, j], every second time 8 read, 8 written                   8 read, 8 written
//   couplings                  16, coupled                         32, coupled
//                              24 or 40, coupled 40 or 56          56 or 72, coupled 88 or 104
//
// Operations: 5 for A p (coupled 8), 2 for r, 2 for its square, 4 every second time for x: 11 on
// average, coupled 14.
template <bool kCoupled, bool kSolution>
HWY_INLINE double update_rows(const Extent& extent, const double* p, double alpha, double* r,
                              const SolutionUpdate& solution, const Couplings& couplings) {
  const hn::ScalableTag<double> d;
  auto sum = hn::Zero(d), error = hn::Zero(d);
  for (auto i = static_cast<std::ptrdiff_t>(extent.rows) - 1; i >= 0; --i) {
    const std::ptrdiff_t at = i * extent.stride;
    const UpdateRow<kCoupled, kSolution, decltype(d)> row{d,
                                                          p + at,
                                                          extent.stride,
                                                          kCoupled ? couplings.east + at : nullptr,
                                                          kCoupled ? couplings.south + at : nullptr,
                                                          alpha,
                                                          r + at,
                                                          kSolution ? solution.x + at : nullptr,
                                                          solution.of_p,
                                                          solution.of_r};
    add_update_row(row, extent.columns, sum, error);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, error)));
}

}  // namespace tabane::scg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TABANE_SCG_PASSES_INL_H_
