#include "tabane/tools/matmul/verify.h"

#include <vector>

#include "tabane/tools/matmul/random.h"

namespace tabane::matmul {
namespace {

constexpr int kDrawn = 32;

// The weights of the columns' parts; 0 if a column has an infinity or NaN.
std::vector<std::uint64_t> weights_of(const Operands& operands, const PrimeField& field) {
  const int parts = operands.parts;
  std::vector<std::uint64_t> weights;
  for (int j = 0; j < operands.columns(); ++j) {
    bool finite = true;
    for (int part = 0; part < parts; ++part) {
      const View& b = operands.b[static_cast<std::size_t>(part)];
      for (int k = 0; k < b.rows(); ++k) finite = finite && mpfr_number_p(b.at(k, j)) != 0;
    }
    for (int part = 0; part < parts; ++part) {
      weights.push_back(finite ? field.weight(j * parts + part) : 0);
    }
  }
  return weights;
}

// b times the weights: what re(a_ik), and behind all those what im(a_ik), is multiplied by.
std::vector<std::uint64_t> weigh(const Operands& operands, const PrimeField& field,
                                 const std::vector<std::uint64_t>& weights) {
  const auto parts = static_cast<std::size_t>(operands.parts);
  const auto terms = static_cast<std::size_t>(operands.terms());
  std::vector<std::uint64_t> sums(parts * terms);
  const auto add = [&](std::size_t at, std::uint64_t weight, std::uint64_t value) {
    sums[at] = field.add(sums[at], field.multiply(weight, value));
  };
  for (std::size_t k = 0; k < terms; ++k) {
    for (std::size_t j = 0; j < weights.size() / parts; ++j) {
      const std::uint64_t re = field.of(operands.b[0].at(static_cast<int>(k), static_cast<int>(j)));
      add(k, weights[parts * j], re);
      if (parts == 1) continue;
      const std::uint64_t im = field.of(operands.b[1].at(static_cast<int>(k), static_cast<int>(j)));
      add(k, weights[2 * j + 1], im);
      add(terms + k, weights[2 * j], field.subtract(0, im));
      add(terms + k, weights[2 * j + 1], re);
    }
  }
  return sums;
}

bool row_is_wrong(const Operands& operands, const Target& target, const PrimeField& field, int i,
                  const std::vector<std::uint64_t>& weights,
                  const std::vector<std::uint64_t>& weighed, std::uint64_t sketch) {
  const auto terms = static_cast<std::size_t>(operands.terms());
  std::uint64_t expected = 0, found = sketch;
  for (int part = 0; part < operands.parts; ++part) {
    const View& a = operands.a[static_cast<std::size_t>(part)];
    for (std::size_t k = 0; k < terms; ++k) {
      const mpfr_srcptr x = a.at(i, static_cast<int>(k));
      if (!mpfr_number_p(x)) return false;
      expected = field.add(
          expected,
          field.multiply(field.of(x), weighed[static_cast<std::size_t>(part) * terms + k]));
    }
    for (int j = 0; j < operands.columns(); ++j) {
      const auto at = static_cast<std::size_t>(j * operands.parts + part);
      if (weights[at] == 0) continue;
      found = field.add(found, field.multiply(weights[at], field.of(target.at(i, j, part))));
    }
  }
  return expected != found;
}

bool same(mpfr_srcptr x, mpfr_srcptr y) {
  if (mpfr_nan_p(x) || mpfr_nan_p(y)) return mpfr_nan_p(x) && mpfr_nan_p(y);
  return mpfr_equal_p(x, y) && mpfr_signbit(x) == mpfr_signbit(y);
}

int wrong_of_drawn(const Operands& operands, const Target& target, std::uint64_t seed) {
  if (operands.rows() == 0 || operands.columns() == 0) return 0;
  const WidestRange widest;
  Matrix once(1, 1, target.c[0]->bits());
  ExactSum sum;
  std::vector<__mpfr_struct> x, y;
  int wrong = 0;
  for (std::uint64_t n = 0; n < kDrawn; ++n) {
    const auto draw = [&](std::uint64_t which, int size) {
      return static_cast<int>(random_bits(seed, 3 * n + which) % static_cast<std::uint64_t>(size));
    };
    const int i = draw(0, operands.rows()), j = draw(1, operands.columns());
    const int part = draw(2, operands.parts);
    x.clear();
    y.clear();
    operands.append_row(i, part, x);
    operands.append_column(j, part, y);
    sum.compute(once.at(0, 0), x, y, target.rounding, target.range);
    if (!same(once.at(0, 0), target.at(i, j, part))) ++wrong;
  }
  return wrong;
}

}  // namespace

solver::Check verify(const Operands& operands, const Target& target, const PrimeField& field,
                     std::span<const std::uint64_t> sketch) {
  const std::vector<std::uint64_t> weights = weights_of(operands, field);
  const std::vector<std::uint64_t> weighed = weigh(operands, field, weights);
  int wrong = wrong_of_drawn(operands, target, field.prime());
  for (int i = 0; i < operands.rows(); ++i) {
    const std::uint64_t own = sketch[static_cast<std::size_t>(i)];
    if (row_is_wrong(operands, target, field, i, weights, weighed, own)) ++wrong;
  }
  return {static_cast<double>(wrong), 0};
}

}  // namespace tabane::matmul
