#include <cfloat>
#include <cmath>

#include "tabane/tools/linpack/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/linpack/leaf.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::linpack::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Looks at the next Lanes(d) rows, `here`: keeps each lane's largest absolute value and its row. A
// NaN is not greater than anything. Rows are counted in doubles, which are exact for them.
template <class D, class V>
HWY_INLINE void see(D d, V values, V& magnitude, V& row, V& here) {
  const auto own = hn::Abs(values);
  const auto greater = hn::Gt(own, magnitude);
  magnitude = hn::IfThenElse(greater, own, magnitude);
  row = hn::IfThenElse(greater, here, row);
  here = hn::Add(here, hn::Set(d, static_cast<double>(hn::Lanes(d))));
}

// Returns the best of all lanes; of equal values that of the first row.
template <class D, class V>
HWY_INLINE Pivot best_of(D d, V magnitude, V row) {
  HWY_ALIGN double magnitudes[HWY_MAX_BYTES / sizeof(double)], rows[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(magnitude, d, magnitudes);
  hn::Store(row, d, rows);
  Pivot best;
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    const Pivot own{magnitudes[lane], static_cast<int>(rows[lane])};
    if (own.magnitude > best.magnitude || (own.magnitude == best.magnitude && own.row < best.row)) {
      best = own;
    }
  }
  return best;
}

inline void see_rest(Pivot& best, const double* column, int from, int rows) {
  for (int i = from; i < rows; ++i) {
    if (std::fabs(column[i]) > best.magnitude) best = {std::fabs(column[i]), i};
  }
}

Pivot find_pivot_in(const double* column, int rows) {
  const hn::ScalableTag<double> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto magnitude = hn::Set(d, -1.0), row = hn::Zero(d), here = hn::Iota(d, 0);
  int i = 0;
  for (; i + lanes <= rows; i += lanes) {
    see(d, hn::LoadU(d, column + i), magnitude, row, here);
  }
  Pivot best = best_of(d, magnitude, row);
  see_rest(best, column, i, rows);
  return best;
}

// columns: one that the compiler knows, so that the row u stays in registers. A row of 8 columns:
// 8 loads, 8 stores, 15 operations; the stores set the pace.
template <int kColumns>
HWY_INLINE Pivot eliminate_columns(double* HWY_RESTRICT a, std::ptrdiff_t ld, int rows,
                                   double inverse, const double* HWY_RESTRICT u) {
  const hn::ScalableTag<double> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto magnitude = hn::Set(d, -1.0), row = hn::Zero(d), here = hn::Iota(d, 0);
  int i = 0;
  for (; i + lanes <= rows; i += lanes) {
    const auto factor = hn::Mul(hn::LoadU(d, a + i), hn::Set(d, inverse));
    hn::StoreU(factor, d, a + i);
    HWY_UNROLL(8)
    for (int j = 1; j < kColumns; ++j) {
      double* const to = a + j * ld + i;
      const auto value = hn::NegMulAdd(factor, hn::Set(d, u[j - 1]), hn::LoadU(d, to));
      hn::StoreU(value, d, to);
      if (j == 1) see(d, value, magnitude, row, here);
    }
  }
  Pivot best = best_of(d, magnitude, row);
  const int rest = i;
  for (; i < rows; ++i) {
    a[i] *= inverse;
    for (int j = 1; j < kColumns; ++j) a[i + j * ld] -= a[i] * u[j - 1];
  }
  if (kColumns > 1) see_rest(best, a + ld, rest, rows);
  return best;
}

template <int kMost>
Pivot eliminate_up_to(double* a, std::ptrdiff_t ld, int rows, int columns, double inverse,
                      const double* u) {
  if constexpr (kMost > 1) {
    if (columns < kMost) return eliminate_up_to<kMost - 1>(a, ld, rows, columns, inverse, u);
  }
  return eliminate_columns<kMost>(a, ld, rows, inverse, u);
}

Pivot eliminate_by(double* a, std::ptrdiff_t ld, int rows, int columns, double inverse,
                   const double* u) {
  return eliminate_up_to<kLeafColumns>(a, ld, rows, columns, inverse, u);
}

}  // namespace tabane::linpack::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::linpack {

HWY_EXPORT(find_pivot_in);
HWY_EXPORT(eliminate_by);

Pivot eliminate_ref(double* a, std::ptrdiff_t ld, int rows, int columns, double pivot,
                    const double* u) {
  Pivot next;
  for (int i = 0; i < rows; ++i) {
    a[i] /= pivot;
    for (int j = 1; j < columns; ++j) a[i + j * ld] -= a[i] * u[j - 1];
    if (columns > 1 && std::abs(a[i + ld]) > next.magnitude) next = {std::abs(a[i + ld]), i};
  }
  return next;
}

Pivot find_pivot(const double* column, int rows) {
  return TABANE_DISPATCH(find_pivot_in)(column, rows);
}

Pivot eliminate(double* a, std::ptrdiff_t ld, int rows, int columns, double pivot,
                const double* u) {
  // The inverse of a smaller one may be infinite.
  if (std::fabs(pivot) < DBL_MIN) return eliminate_ref(a, ld, rows, columns, pivot, u);
  return TABANE_DISPATCH(eliminate_by)(a, ld, rows, columns, 1 / pivot, u);
}

}  // namespace tabane::linpack
#endif
