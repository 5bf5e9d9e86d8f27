#include "tabane/tools/linpack/kernels.h"

#include <cfloat>
#include <cmath>

// Vectors of SVE have no size that can stand in arrays; NEON's do.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/linpack/kernels.cc"
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

constexpr int kMostLanes = 8;
using D = hn::CappedTag<double, kMostLanes>;

struct Matrix {
  double* values;
  std::ptrdiff_t ld;
  double* at(int row, int column) const { return values + row + column * ld; }
};

// The part of L below the diagonal in a block on it, with zeros from the diagonal upwards: so that
// a step with column j leaves rows 0 ... j of a whole vector as they are.
struct DiagonalBlock {
  HWY_ALIGN double columns[kMostLanes * kMostLanes];

  DiagonalBlock(int lanes, const Matrix& l, int first) {
    for (int j = 0; j < lanes; ++j) {
      for (int i = 0; i < lanes; ++i) {
        columns[j * lanes + i] = i > j ? *l.at(first + i, first + j) : 0;
      }
    }
  }
};

// kColumns columns of B from one block of rows to the next, a vector per column: what the rows
// above contribute, as a product of matrices, then the block itself, row by row. A row's value goes
// to all lanes by way of memory; the columns take turns, which hides that.
//
//   instructions per row above: 1 load, kColumns multiply-adds with a load
//   per row of the block:       1 load, kColumns stores and multiply-adds with a load
template <int kColumns>
HWY_INLINE void solve_rows(const Matrix& l, const Matrix& b, int column, int first,
                           const DiagonalBlock& diagonal) {
  const D d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  double* const to = b.at(first, column);
  hn::Vec<D> sums[kColumns];
  HWY_UNROLL(8)
  for (int c = 0; c < kColumns; ++c) sums[c] = hn::LoadU(d, to + c * b.ld);
  const double* row = b.at(0, column);
  const double* factors = l.at(first, 0);
  for (int k = 0; k < first; ++k, ++row, factors += l.ld) {
    const auto factor = hn::LoadU(d, factors);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      sums[c] = hn::NegMulAdd(factor, hn::Set(d, row[c * b.ld]), sums[c]);
    }
  }
  for (int j = 0; j < lanes; ++j) {
    const auto factor = hn::Load(d, diagonal.columns + j * lanes);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      hn::StoreU(sums[c], d, to + c * b.ld);
      sums[c] = hn::NegMulAdd(factor, hn::Set(d, to[c * b.ld + j]), sums[c]);
    }
  }
  HWY_UNROLL(8)
  for (int c = 0; c < kColumns; ++c) hn::StoreU(sums[c], d, to + c * b.ld);
}

// Rows [first, m) of one column, fewer than a vector has lanes.
HWY_INLINE void solve_rest(const Matrix& l, const Matrix& b, int column, int first, int m) {
  double* const x = b.at(0, column);
  for (int i = first; i < m; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= *l.at(i, k) * x[k];
  }
}

// Columns of B that stay in the first-level cache together from one block of rows to the next.
constexpr int kColumnsInCache = 32;

void solve(int m, int n, const double* l_values, std::ptrdiff_t ldl, double* b_values,
           std::ptrdiff_t ldb) {
  constexpr int kColumns = 8;
  const Matrix l{const_cast<double*>(l_values), ldl};
  const int lanes = static_cast<int>(hn::Lanes(D()));
  for (int done = 0; done < n; done += kColumnsInCache) {
    const Matrix b{b_values + done * ldb, ldb};
    const int columns = HWY_MIN(n - done, kColumnsInCache);
    int first = 0;
    for (; first + lanes <= m; first += lanes) {
      const DiagonalBlock diagonal(lanes, l, first);
      int column = 0;
      for (; column + kColumns <= columns; column += kColumns) {
        solve_rows<kColumns>(l, b, column, first, diagonal);
      }
      for (; column < columns; ++column) solve_rows<1>(l, b, column, first, diagonal);
    }
    for (int column = 0; column < columns && first < m; ++column) {
      solve_rest(l, b, column, first, m);
    }
  }
}

}  // namespace tabane::linpack::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::linpack {

HWY_EXPORT(find_pivot_in);
HWY_EXPORT(eliminate_by);
HWY_EXPORT(solve);

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

void solve_unit_lower(int m, int n, const double* l, std::ptrdiff_t ldl, double* b,
                      std::ptrdiff_t ldb) {
  TABANE_DISPATCH(solve)(m, n, l, ldl, b, ldb);
}

}  // namespace tabane::linpack
#endif
