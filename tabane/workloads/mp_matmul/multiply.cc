#include "tabane/workloads/mp_matmul/multiply.h"

#include "tabane/workloads/mp_matmul/exact_sum.h"
#include "tabane/workloads/mp_matmul/problem.h"

namespace tabane::workloads::mp_matmul {

Matrix multiply(const Matrix& a, const Matrix& b, mpfr_prec_t bits, const Options& options,
                Cost* cost) {
  require_product(a, b);
  Matrix c(a.rows(), b.columns(), bits);
  const ExponentRange range;
  const WidestRange widest;
  ExactSum sum;
  std::vector<__mpfr_struct> row, column;
  for (int i = 0; i < c.rows(); ++i) {
    row.clear();
    for (int k = 0; k < a.columns(); ++k) row.push_back(*a.at(i, k));
    for (int j = 0; j < c.columns(); ++j) {
      column.clear();
      for (int k = 0; k < b.rows(); ++k) column.push_back(*b.at(k, j));
      sum.compute(c.at(i, j), row, column, options.rounding, range);
    }
  }
  if (cost != nullptr) *cost = {.method = Method::sums};
  return c;
}

}  // namespace tabane::workloads::mp_matmul
