#include "tabane/tools/matmul/loops.h"

#include <algorithm>

#include "tabane/tools/matmul/problem.h"

namespace tabane::matmul {
namespace {

class Temporary {
 public:
  explicit Temporary(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  ~Temporary() { mpfr_clear(value_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

struct Terms {
  Range i, j, k;
};

void add_terms(const Terms& terms, const Matrix& a, const Matrix& b, Matrix& c, mpfr_ptr product,
               mpfr_rnd_t rounding) {
  for (int i = terms.i.first; i < terms.i.end; ++i) {
    for (int j = terms.j.first; j < terms.j.end; ++j) {
      const mpfr_ptr sum = c.at(i, j);
      for (int k = terms.k.first; k < terms.k.end; ++k) {
        mpfr_mul(product, a.at(i, k), b.at(k, j), rounding);
        mpfr_add(sum, sum, product, rounding);
      }
    }
  }
}

}  // namespace

Matrix triple_loop(const Matrix& a, const Matrix& b, mpfr_prec_t bits, mpfr_rnd_t rounding) {
  require_product(a, b);
  Matrix c(a.rows(), b.columns(), bits);
  Temporary product(bits);
  add_terms({{0, a.rows()}, {0, b.columns()}, {0, a.columns()}}, a, b, c, product.get(), rounding);
  return c;
}

Matrix blocked_loop(const Matrix& a, const Matrix& b, mpfr_prec_t bits, mpfr_rnd_t rounding) {
  require_product(a, b);
  Matrix c(a.rows(), b.columns(), bits);
  Temporary product(bits);
  // Three blocks in a quarter of a mebibyte.
  int block = 4;
  const long each = bits / 8 + static_cast<long>(sizeof(__mpfr_struct));
  while (block < 128 && 3 * 4L * block * block * each <= 1L << 18) block *= 2;
  const auto cut = [block](int first, int end) {
    return Range{first, std::min(first + block, end)};
  };
  for (int j = 0; j < b.columns(); j += block) {
    for (int k = 0; k < a.columns(); k += block) {
      for (int i = 0; i < a.rows(); i += block) {
        add_terms({cut(i, a.rows()), cut(j, b.columns()), cut(k, a.columns())}, a, b, c,
                  product.get(), rounding);
      }
    }
  }
  return c;
}

}  // namespace tabane::matmul
