#include "tabane/tools/matmul/multiply.h"

#include <gmp.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/tools/matmul/operands.h"
#include "tabane/tools/matmul/plan.h"
#include "tabane/tools/matmul/residue_product.h"

namespace tabane::matmul {

Matrix triple_loop(const Matrix& a, const Matrix& b, mpfr_prec_t bits, mpfr_rnd_t rounding) {
  require_product(a, b);
  Matrix c(a.rows(), b.columns(), bits), one(1, 1, bits);
  const mpfr_ptr product = one.at(0, 0);
  for (int i = 0; i < c.rows(); ++i) {
    for (int j = 0; j < c.columns(); ++j) {
      const mpfr_ptr sum = c.at(i, j);
      for (int k = 0; k < a.columns(); ++k) {
        mpfr_mul(product, a.at(i, k), b.at(k, j), rounding);
        mpfr_add(sum, sum, product, rounding);
      }
    }
  }
  return c;
}

namespace {

std::size_t limbs_for(std::int64_t width) {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(1, (width + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS));
}

// Sums products of integers, one element after the other: fastest where matrices are small.
class IntegerLoop {
 public:
  // Takes the numbers of the plan's rows and columns, of its only group.
  IntegerLoop(const Operands& operands, const ProductPlan& plan)
      : rows_(plan.rows.size()), columns_(plan.columns.size()), parts_(operands.parts) {
    const TermGroup& group = plan.groups[0];
    std::vector<mp_limb_t> integer;
    const auto read = [&](Integers& integers, Factor side, std::int64_t width,
                          const std::vector<int>& lines) {
      integers.limbs = limbs_for(width);
      integers.terms = group.terms.index.size();
      integer.resize(integers.limbs + 1);
      const std::size_t count = static_cast<std::size_t>(parts_) * lines.size() * integers.terms;
      integers.magnitudes.reserve(count * integers.limbs);
      integers.signs.reserve(count);
      for (int part = 0; part < parts_; ++part) {
        for (const int line : lines) {
          for (std::size_t t = 0; t < integers.terms; ++t) {
            const mpfr_srcptr x = operands.at(side, part, line, group.terms.index[t]);
            to_integer(x, group.low(side, line, t), integer);
            integers.magnitudes.insert(integers.magnitudes.end(), integer.begin(),
                                       integer.end() - 1);
            integers.signs.push_back(mpfr_zero_p(x) ? 0 : mpfr_signbit(x) != 0 ? -1 : 1);
          }
        }
      }
    };
    read(a_, Factor::a, group.a_width, plan.rows);
    read(b_, Factor::b, group.b_width, plan.columns);
  }

  // Returns a part (Operands) of the element in the plan's row r and column c, in two's complement.
  // into: grows as needed, and holds the result.
  std::span<mp_limb_t> compute(std::size_t r, std::size_t c, int part,
                               std::vector<mp_limb_t>& into) const {
    const std::size_t limbs = a_.limbs + b_.limbs;
    into.assign(2 * limbs + 1, 0);
    const std::span<mp_limb_t> sum = std::span(into).first(limbs + 1);
    for (int p = 0; p < parts_; ++p) {
      const int q = part == 0 ? p : parts_ - 1 - p;  // as Operands pairs them
      const std::size_t row = (static_cast<std::size_t>(p) * rows_ + r) * a_.terms;
      const std::size_t column = (static_cast<std::size_t>(q) * columns_ + c) * b_.terms;
      if (a_.terms == 0) continue;
      add_part(&a_.magnitudes[row * a_.limbs], &a_.signs[row], &b_.magnitudes[column * b_.limbs],
               &b_.signs[column], p == 1 && part == 0, sum, std::span(into).subspan(limbs + 1));
    }
    return sum;
  }

 private:
  struct Integers {
    std::size_t limbs = 1, terms = 0;
    std::vector<mp_limb_t> magnitudes;  // by part, row or column, and term
    std::vector<signed char> signs;
  };
  void add_part(const mp_limb_t* x, const signed char* x_signs, const mp_limb_t* y,
                const signed char* y_signs, bool negate, std::span<mp_limb_t> sum,
                std::span<mp_limb_t> product) const {
    const auto x_limbs = static_cast<mp_size_t>(a_.limbs),
               y_limbs = static_cast<mp_size_t>(b_.limbs);
    const mp_size_t limbs = x_limbs + y_limbs;
    for (std::size_t t = 0; t < a_.terms; ++t, x += x_limbs, y += y_limbs) {
      const int sign = (negate ? -1 : 1) * x_signs[t] * y_signs[t];
      if (sign == 0) continue;
      if (x_limbs == y_limbs) {
        mpn_mul_n(product.data(), x, y, x_limbs);
      } else if (x_limbs > y_limbs) {
        mpn_mul(product.data(), x, x_limbs, y, y_limbs);
      } else {
        mpn_mul(product.data(), y, y_limbs, x, x_limbs);
      }
      mp_limb_t& top = sum[limbs];
      if (sign > 0) {
        top += mpn_add_n(sum.data(), sum.data(), product.data(), limbs);
      } else {
        top -= mpn_sub_n(sum.data(), sum.data(), product.data(), limbs);
      }
    }
  }

  Integers a_, b_;
  std::size_t rows_, columns_;
  int parts_;
};

void require_options(const ProductOptions& options) {
  if (options.rounding != MPFR_RNDN && options.rounding != MPFR_RNDZ &&
      options.rounding != MPFR_RNDU && options.rounding != MPFR_RNDD) {
    throw core::UsageError("rounding must be RNDN, RNDZ, RNDU or RNDD");
  }
  if (options.threads < 1 || options.threads > kMostThreads) {
    throw core::UsageError("threads must be 1 to {}, not {}", kMostThreads, options.threads);
  }
}

class Product {
 public:
  Product(const Operands& operands, const Target& target, const ProductOptions& options, Cost& cost,
          const PrimeSpread* spread)
      : operands_(operands), target_(target), options_(options), cost_(cost), spread_(spread) {
    for (int i = 0; i < options.threads; ++i) {
      writers_.push_back(std::make_unique<ElementWriter>(operands, target_, i));
    }
  }

  void run() {
    const WidestRange widest;
    const ProductPlan plan = make_plan(operands_, target_.c[0]->bits(), options_.method);
    cost_.method = plan.method;
    for (const TermGroup& group : plan.groups) {
      cost_.widest = std::max({cost_.widest, group.a_width, group.b_width});
    }
    if (!plan.rows.empty() && !plan.columns.empty()) {
      if (plan.method == Method::residues) {
        multiply_by_residues(operands_, plan, target_, options_, cost_, spread_);
      } else if (plan.method == Method::integers) {
        multiply_by_integers(plan);
      } else {
        sum_outliers(own(plan.rows), plan.columns);
      }
    }
    std::vector<int> all(operands_.columns());
    std::iota(all.begin(), all.end(), 0);
    sum_outliers(own(plan.outlier_rows), all);
    sum_outliers(own(plan.rows), plan.outlier_columns);
  }

 private:
  // Returns those of these rows that this rank finishes.
  std::vector<int> own(std::vector<int> rows) const {
    if (spread_ == nullptr) return rows;
    const IndexRange own = spread_->rows_of(spread_->comm().rank());
    std::erase_if(rows, [&](int row) { return row < own.first || row >= own.end; });
    return rows;
  }

  void multiply_by_integers(ProductPlan plan) {
    plan.rows = own(plan.rows);
    const IntegerLoop loop(operands_, plan);
    const TermGroup& group = plan.groups[0];
    run_tasks(options_.threads, plan.rows.size(), [&](std::size_t thread, std::size_t r) {
      std::vector<mp_limb_t> integer;
      for (std::size_t c = 0; c < plan.columns.size(); ++c) {
        const int i = plan.rows[r], j = plan.columns[c];
        const WideExponent shift = static_cast<WideExponent>(group.a[i].low) + group.b[j].low;
        for (int part = 0; part < operands_.parts; ++part) {
          writers_[thread]->write({i, j, part}, magnitude_of(loop.compute(r, c, part, integer)),
                                  shift);
        }
      }
    });
  }

  void sum_outliers(const std::vector<int>& rows, const std::vector<int>& columns) {
    cost_.outliers += static_cast<double>(rows.size()) * static_cast<double>(columns.size());
    run_tasks(options_.threads, rows.size(), [&](std::size_t thread, std::size_t r) {
      for (const int j : columns) {
        for (int part = 0; part < operands_.parts; ++part) {
          writers_[thread]->write_by_mpfr({rows[r], j, part});
        }
      }
    });
  }

  const Operands& operands_;
  Target target_;
  const ProductOptions& options_;
  Cost& cost_;
  const PrimeSpread* spread_;
  std::vector<std::unique_ptr<ElementWriter>> writers_;
};

}  // namespace

void multiply_operands(const Operands& operands, const Target& target,
                       const ProductOptions& options, Cost& cost, const PrimeSpread* spread) {
  require_options(options);
  if (!(options.memory >= 0)) throw core::UsageError("the memory cannot be negative");
  ProductOptions own = options;
  if (own.memory == 0) {
    own.memory = core::usable_memory_bytes().value_or(std::numeric_limits<double>::infinity()) / 2;
  }
  Product(operands, target, own, cost, spread).run();
}

Operands operands_of(const Matrix& a, const Matrix& b) {
  require_product(a, b);
  return {{a}, {b}, 1};
}

Operands operands_of(const ComplexMatrix& a, const ComplexMatrix& b) {
  require_product(a.re, b.re);
  for (const ComplexMatrix* each : {&a, &b}) {
    if (each->re.rows() != each->im.rows() || each->re.columns() != each->im.columns()) {
      throw core::UsageError("real and imaginary parts must have one shape");
    }
  }
  return {{a.re, a.im}, {b.re, b.im}, 2};
}

Matrix multiply(const Matrix& a, const Matrix& b, mpfr_prec_t bits, const ProductOptions& options,
                Cost* cost) {
  const Operands operands = operands_of(a, b);
  Matrix c(a.rows(), b.columns(), bits);
  Cost unused;
  multiply_operands(operands, {{&c}, options.rounding}, options,
                    cost != nullptr ? * cost = {} : unused);
  return c;
}

ComplexMatrix multiply(const ComplexMatrix& a, const ComplexMatrix& b, mpfr_prec_t bits,
                       const ProductOptions& options, Cost* cost) {
  const Operands operands = operands_of(a, b);
  ComplexMatrix c{Matrix(a.re.rows(), b.re.columns(), bits),
                  Matrix(a.re.rows(), b.re.columns(), bits)};
  Cost unused;
  multiply_operands(operands, {{&c.re, &c.im}, options.rounding}, options,
                    cost != nullptr ? * cost = {} : unused);
  return c;
}

}  // namespace tabane::matmul
