#include "tabane/tools/matmul/multiply.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <numeric>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/tools/matmul/integer_loop.h"
#include "tabane/tools/matmul/problem.h"
#include "tabane/tools/matmul/product.h"
#include "tabane/tools/matmul/residue_product.h"
#include "tabane/tools/matmul/threads.h"

namespace tabane::matmul {
namespace {

void require_options(const Options& options) {
  if (options.rounding != MPFR_RNDN && options.rounding != MPFR_RNDZ &&
      options.rounding != MPFR_RNDU && options.rounding != MPFR_RNDD) {
    throw core::UsageError("rounding must be RNDN, RNDZ, RNDU or RNDD");
  }
  if (options.threads < 1 || options.threads > kMostThreads) {
    throw core::UsageError(
        fmt::format("threads must be 1 to {}, not {}", kMostThreads, options.threads));
  }
}

class Product {
 public:
  Product(const Operands& operands, const Target& target, const Options& options, Cost& cost,
          const PrimeSpread* spread)
      : operands_(operands), target_(target), options_(options), cost_(cost), spread_(spread) {
    for (int i = 0; i < options.threads; ++i) {
      finishes_.push_back(std::make_unique<Finish>(operands, target_, static_cast<std::size_t>(i)));
    }
  }

  void run() {
    const WidestRange widest;
    const Plan plan = make_plan(operands_, target_.c[0]->bits(), options_.method);
    cost_.method = plan.method;
    for (const Piece& piece : plan.pieces) {
      cost_.widest = std::max({cost_.widest, piece.a_width, piece.b_width});
    }
    if (!plan.rows.empty() && !plan.columns.empty()) {
      if (plan.method == Method::residues) {
        multiply_by_residues(operands_, plan, target_, options_, cost_, spread_);
      } else if (plan.method == Method::integers) {
        multiply_by_integers(plan);
      } else {
        sum_apart(own(plan.rows), plan.columns);
      }
    }
    std::vector<int> all(static_cast<std::size_t>(operands_.columns()));
    std::iota(all.begin(), all.end(), 0);
    sum_apart(own(plan.rows_apart), all);
    sum_apart(own(plan.rows), plan.columns_apart);
  }

 private:
  // Of these rows those that this rank finishes.
  std::vector<int> own(std::vector<int> rows) const {
    if (spread_ == nullptr) return rows;
    const Range own = spread_->rows_of(spread_->comm().rank());
    std::erase_if(rows, [&](int row) { return row < own.first || row >= own.end; });
    return rows;
  }

  void multiply_by_integers(Plan plan) {
    plan.rows = own(plan.rows);
    const IntegerLoop loop(operands_, plan);
    const Piece& piece = plan.pieces[0];
    run_tasks(options_.threads, plan.rows.size(), [&](std::size_t thread, std::size_t r) {
      std::vector<mp_limb_t> integer;
      for (std::size_t c = 0; c < plan.columns.size(); ++c) {
        const int i = plan.rows[r], j = plan.columns[c];
        const WideExponent shift =
            static_cast<WideExponent>(piece.a[static_cast<std::size_t>(i)].low) +
            piece.b[static_cast<std::size_t>(j)].low;
        for (int part = 0; part < operands_.parts; ++part) {
          finishes_[thread]->one({i, j, part}, magnitude_of(loop.compute(r, c, part, integer)),
                                 shift);
        }
      }
    });
  }

  void sum_apart(const std::vector<int>& rows, const std::vector<int>& columns) {
    cost_.apart += static_cast<double>(rows.size()) * static_cast<double>(columns.size());
    run_tasks(options_.threads, rows.size(), [&](std::size_t thread, std::size_t r) {
      for (const int j : columns) {
        for (int part = 0; part < operands_.parts; ++part) {
          finishes_[thread]->apart({rows[r], j, part});
        }
      }
    });
  }

  const Operands& operands_;
  Target target_;
  const Options& options_;
  Cost& cost_;
  const PrimeSpread* spread_;
  std::vector<std::unique_ptr<Finish>> finishes_;
};

}  // namespace

void multiply_operands(const Operands& operands, const Target& target, const Options& options,
                       Cost& cost, const PrimeSpread* spread) {
  require_options(options);
  if (!(options.memory >= 0)) throw core::UsageError("the memory cannot be negative");
  Options own = options;
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

Matrix multiply(const Matrix& a, const Matrix& b, mpfr_prec_t bits, const Options& options,
                Cost* cost) {
  const Operands operands = operands_of(a, b);
  Matrix c(a.rows(), b.columns(), bits);
  Cost unused;
  multiply_operands(operands, {{&c}, options.rounding}, options,
                    cost != nullptr ? * cost = {} : unused);
  return c;
}

ComplexMatrix multiply(const ComplexMatrix& a, const ComplexMatrix& b, mpfr_prec_t bits,
                       const Options& options, Cost* cost) {
  const Operands operands = operands_of(a, b);
  ComplexMatrix c{Matrix(a.re.rows(), b.re.columns(), bits),
                  Matrix(a.re.rows(), b.re.columns(), bits)};
  Cost unused;
  multiply_operands(operands, {{&c.re, &c.im}, options.rounding}, options,
                    cost != nullptr ? * cost = {} : unused);
  return c;
}

}  // namespace tabane::matmul
