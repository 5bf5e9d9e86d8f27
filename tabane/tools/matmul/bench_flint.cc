#include "tabane/tools/matmul/bench_flint.h"

#ifdef TABANE_BENCH_FLINT
#include <arb_mat.h>
#include <flint/flint.h>
#endif

namespace tabane::bench {

using matmul::Matrix;

#ifdef TABANE_BENCH_FLINT

struct FlintProduct::Matrices {
  arb_mat_t a, b, c;
  long bits;
};

namespace {

void set(arb_mat_t to, const Matrix& from) {
  arb_mat_init(to, from.rows(), from.columns());
  for (int i = 0; i < from.rows(); ++i) {
    for (int j = 0; j < from.columns(); ++j) {
      arf_set_mpfr(arb_midref(arb_mat_entry(to, i, j)), from.at(i, j));
    }
  }
}

}  // namespace

FlintProduct::FlintProduct(const Matrix& a, const Matrix& b)
    : matrices_(std::make_unique<Matrices>()) {
  set(matrices_->a, a);
  set(matrices_->b, b);
  arb_mat_init(matrices_->c, a.rows(), b.columns());
  matrices_->bits = a.bits();
}

FlintProduct::~FlintProduct() {
  arb_mat_clear(matrices_->a);
  arb_mat_clear(matrices_->b);
  arb_mat_clear(matrices_->c);
}

std::string FlintProduct::missing() { return ""; }
std::string FlintProduct::version() {
  return std::string("FLINT ") + flint_version + ", Arb " + arb_version;
}

void FlintProduct::multiply() {
  arb_mat_mul(matrices_->c, matrices_->a, matrices_->b, matrices_->bits);
}

#else

struct FlintProduct::Matrices {};
FlintProduct::FlintProduct(const Matrix&, const Matrix&) {}
FlintProduct::~FlintProduct() = default;
std::string FlintProduct::missing() { return "FLINT was not found"; }
std::string FlintProduct::version() { return ""; }
void FlintProduct::multiply() {}

#endif

}  // namespace tabane::bench
