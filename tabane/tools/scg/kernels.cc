// The sums of both passes are as good as if they were added in twice the precision.
#include "tabane/tools/scg/system.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/scg/kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

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

// The elements of a vector that begins in column j of a row: all of them, with neighbours in the
// row; or, for the ends of a row, the first `count`, whose neighbours in the frame count as 0.
struct All {
  template <class V>
  HWY_INLINE V kept(V v) const {
    return v;
  }
  template <class V>
  HWY_INLINE V west(V v) const {
    return v;
  }
  template <class V>
  HWY_INLINE V east(V v) const {
    return v;
  }
  template <class D, class V>
  HWY_INLINE void store(D d, V v, double* to) const {
    hn::StoreU(v, d, to);
  }
};
template <class D, class V = hn::Vec<D>>
struct Some {
  D d;
  std::size_t j, count, columns;

  HWY_INLINE V kept(V v) const { return hn::IfThenElseZero(hn::FirstN(d, count), v); }
  HWY_INLINE V west(V v) const {
    return j == 0 ? hn::IfThenZeroElse(hn::FirstN(d, 1), kept(v)) : kept(v);
  }
  HWY_INLINE V east(V v) const {
    return hn::IfThenElseZero(hn::FirstN(d, j + count == columns ? count - 1 : count), v);
  }
  HWY_INLINE void store(D, V v, double* to) const {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  }
};

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

  template <class Part>
  HWY_INLINE void add(const Part& part, std::size_t j, V& down, V& along) const {
    const V at = part.kept(combined(d, r + j, beta, p + j));
    part.store(d, at, p + j);
    if constexpr (kTop) {
      down = hn::MulAdd(at, at, down);
    } else {
      const V north = part.kept(hn::LoadU(d, above + j));
      const V vertical = hn::Sub(at, north);
      const V horizontal = hn::Sub(north, part.west(hn::LoadU(d, above + j - 1)));
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

  HWY_INLINE V product(std::size_t j, V centre, V e, V w, V s) const {
    V sum = hn::NegMulAdd(hn::LoadU(d, east + j), e, centre);
    sum = hn::NegMulAdd(hn::LoadU(d, east + j - 1), w, sum);
    sum = hn::NegMulAdd(hn::LoadU(d, south + j), s, sum);
    if (second) return sum;
    return hn::NegMulAdd(hn::LoadU(d, south + j - stride), hn::LoadU(d, above + j - stride), sum);
  }

  template <class Part>
  HWY_INLINE void add(const Part& part, std::size_t j, V& sum, V& /*along*/) const {
    V at = hn::Zero(d);
    if (p != nullptr) {
      at = part.kept(combined(d, r + j, beta, p + j));
      part.store(d, at, p + j);
    }
    if constexpr (!kTop) {
      const V centre = part.kept(hn::LoadU(d, above + j));
      const V e = part.east(hn::LoadU(d, above + j + 1)),
              w = part.west(hn::LoadU(d, above + j - 1));
      sum = hn::MulAdd(centre, product(j, centre, e, w, at), sum);
    }
  }

  HWY_INLINE double last_edge(std::size_t /*columns*/) const { return 0; }
};

// Four vectors at a time: the chains of additions then take no longer than the loads.
template <class Row, class V>
HWY_INLINE double add_direction_row(const Row& row, std::size_t columns, V& sum, V& error) {
  const auto d = row.d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  auto e0 = hn::Zero(d), e1 = hn::Zero(d), e2 = hn::Zero(d), e3 = hn::Zero(d);
  std::size_t j = HWY_MIN(lanes, columns);
  const All all;
  row.add(Some<decltype(d)>{d, 0, j, columns}, 0, s0, e0);
  for (; j + 4 * lanes < columns; j += 4 * lanes) {
    row.add(all, j, s0, e0);
    row.add(all, j + lanes, s1, e1);
    row.add(all, j + 2 * lanes, s2, e2);
    row.add(all, j + 3 * lanes, s3, e3);
  }
  for (; j + lanes < columns; j += lanes) row.add(all, j, s1, e1);
  if (j < columns) row.add(Some<decltype(d)>{d, j, columns - j, columns}, j, s2, e2);
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
    const Some<D> part{d, j, HWY_MIN(hn::Lanes(d), columns - j), columns};
    const auto at = part.kept(hn::LoadU(d, p + j));
    const auto horizontal = hn::Sub(at, part.west(hn::LoadU(d, p + j - 1)));
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
  const CoupledRow<true, D> top{d, r, beta, p, p, 0, nullptr, nullptr, true};
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
                                   i == 1};
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
double direction(const Extent& extent, const double* r, double beta, double* p,
                 const Couplings& couplings) {
  const hn::ScalableTag<double> d;
  if (couplings.east == nullptr) return direction_by_differences(d, extent, r, beta, p);
  return direction_by_products(d, extent, r, beta, p, couplings);
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

  template <class Part>
  HWY_INLINE void add(const Part& part, std::size_t j, V& squares) const {
    const V at = hn::LoadU(d, p + j), residual = hn::LoadU(d, r + j);
    if constexpr (kSolution) part.store(d, new_x(j, at, residual), x + j);
    const V next = hn::NegMulAdd(hn::Set(d, alpha), product(j, at), residual);
    part.store(d, next, r + j);
    const V counted = part.kept(next);
    squares = hn::MulAdd(counted, counted, squares);
  }
};

template <class Row, class V>
HWY_INLINE void add_update_row(const Row& row, std::size_t columns, V& sum, V& error) {
  const auto d = row.d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  std::size_t j = 0;
  const All all;
  for (; j + 4 * lanes <= columns; j += 4 * lanes) {
    row.add(all, j, s0);
    row.add(all, j + lanes, s1);
    row.add(all, j + 2 * lanes, s2);
    row.add(all, j + 3 * lanes, s3);
  }
  for (; j + lanes <= columns; j += lanes) row.add(all, j, s1);
  if (j < columns) row.add(Some<decltype(d)>{d, j, columns - j, columns}, j, s2);
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

double update_block(const Extent& extent, const double* p, double alpha, double* r,
                    const SolutionUpdate& solution, const Couplings& couplings) {
  if (couplings.east == nullptr) {
    if (solution.x == nullptr) {
      return update_rows<false, false>(extent, p, alpha, r, solution, couplings);
    }
    return update_rows<false, true>(extent, p, alpha, r, solution, couplings);
  }
  if (solution.x == nullptr) {
    return update_rows<true, false>(extent, p, alpha, r, solution, couplings);
  }
  return update_rows<true, true>(extent, p, alpha, r, solution, couplings);
}

void combine_vectors(const double* r, double beta, const double* p, double* out, std::size_t n) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(combined(d, r + i, beta, p + i), d, out + i);
  }
  for (; i < n; ++i) hn::StoreU(combined(one, r + i, beta, p + i), one, out + i);
}

}  // namespace tabane::scg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::scg {

HWY_EXPORT(direction);
HWY_EXPORT(update_block);
HWY_EXPORT(combine_vectors);

double new_direction(const Extent& extent, const double* r, double beta, double* p,
                     const Couplings& couplings) {
  return TABANE_DISPATCH(direction)(extent, r, beta, p, couplings);
}

double update(const Extent& extent, const double* p, double alpha, double* r,
              const SolutionUpdate& solution, const Couplings& couplings) {
  return TABANE_DISPATCH(update_block)(extent, p, alpha, r, solution, couplings);
}

void combine(const double* r, double beta, const double* p, double* out, std::size_t n) {
  TABANE_DISPATCH(combine_vectors)(r, beta, p, out, n);
}

}  // namespace tabane::scg
#endif
