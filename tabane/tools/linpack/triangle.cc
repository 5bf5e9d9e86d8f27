#include "tabane/tools/linpack/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/linpack/triangle.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::linpack::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

HWY_EXPORT(solve);

void solve_unit_lower(int m, int n, const double* l, std::ptrdiff_t ldl, double* b,
                      std::ptrdiff_t ldb) {
  TABANE_DISPATCH(solve)(m, n, l, ldl, b, ldb);
}

}  // namespace tabane::linpack
#endif
