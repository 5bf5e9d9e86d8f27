// The second pass of an iteration: r := r - alpha A p, (r, r), and at times x.

#if defined(TABANE_SCALED_CG_UPDATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABANE_SCALED_CG_UPDATE_INL_H_
#undef TABANE_SCALED_CG_UPDATE_INL_H_
#else
#define TABANE_SCALED_CG_UPDATE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "tabane/tools/scg/kernels.h"
#include "tabane/tools/scg/sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::scg::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

// From the last row to the first: the rows that the pass before has touched last are still near.
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

#endif  // TABANE_SCALED_CG_UPDATE_INL_H_
