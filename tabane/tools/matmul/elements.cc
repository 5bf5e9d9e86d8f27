#include "tabane/tools/matmul/elements.h"

#include <gmpxx.h>

#include <algorithm>
#include <limits>

#include "tabane/core/error.h"
#include "tabane/core/random.h"
#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t random_prime(std::uint64_t seed) {
  mpz_class prime = (core::random_bits(seed, 0) >> 4) | (std::uint64_t{1} << 59);
  mpz_nextprime(prime.get_mpz_t(), prime.get_mpz_t());
  return prime.get_ui();
}

constexpr std::int64_t kMostSpread = std::int64_t{1} << 60;

// Copies numbers, which share their digits, with exponents of at most 0. Returns what was
// subtracted.
std::int64_t copy_scaled(std::span<const __mpfr_struct> from, std::vector<__mpfr_struct>& to) {
  std::int64_t most = std::numeric_limits<std::int64_t>::min(), least = -(most + 1);
  for (const __mpfr_struct& x : from) {
    if (!mpfr_regular_p(&x)) continue;
    most = std::max<std::int64_t>(most, x._mpfr_exp);
    least = std::min<std::int64_t>(least, x._mpfr_exp);
  }
  to.assign(from.begin(), from.end());
  if (most < least) return 0;
  if (most - least >= kMostSpread) {
    throw core::Error("numbers of one row or column differ by 2^60 in their exponents");
  }
  for (__mpfr_struct& x : to) {
    if (mpfr_regular_p(&x)) x._mpfr_exp -= most;
  }
  return most;
}

constexpr int kDrawn = 32;

// Returns the weights of the columns' parts; 0 if a column has an infinity or NaN.
std::vector<std::uint64_t> weights_of(const Operands& operands, const PrimeField& field) {
  const int parts = operands.parts;
  std::vector<std::uint64_t> weights;
  for (int j = 0; j < operands.columns(); ++j) {
    bool finite = true;
    for (int part = 0; part < parts; ++part) {
      const View& b = operands.b[part];
      for (int k = 0; k < b.rows(); ++k) finite = finite && mpfr_number_p(b.at(k, j)) != 0;
    }
    for (int part = 0; part < parts; ++part) {
      weights.push_back(finite ? field.weight(j * parts + part) : 0);
    }
  }
  return weights;
}

// Returns b times the weights: the factors of all re(a_ik), then those of all im(a_ik).
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
    const View& a = operands.a[part];
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

int wrong_of_drawn(const Operands& operands, const Target& target, std::uint64_t seed) {
  if (operands.rows() == 0 || operands.columns() == 0) return 0;
  const WidestRange widest;
  Matrix once(1, 1, target.c[0]->bits());
  ExactSum sum;
  std::vector<__mpfr_struct> x, y;
  int wrong = 0;
  for (std::uint64_t n = 0; n < kDrawn; ++n) {
    const auto draw = [&](std::uint64_t which, int size) {
      return static_cast<int>(core::random_bits(seed, 3 * n + which) %
                              static_cast<std::uint64_t>(size));
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

PrimeField::PrimeField(std::uint64_t seed)
    : seed_(seed), prime_(random_prime(seed)), powers_(2 * kTable + 1) {
  const std::uint64_t half = (prime_ + 1) / 2;
  powers_[kTable] = 1;
  for (std::size_t i = 1; i <= kTable; ++i) {
    powers_[kTable + i] = add(powers_[kTable + i - 1], powers_[kTable + i - 1]);
    powers_[kTable - i] = multiply(powers_[kTable - i + 1], half);
  }
}

std::uint64_t PrimeField::multiply(std::uint64_t a, std::uint64_t b) const {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % prime_);
}

std::uint64_t PrimeField::power_of_two(WideExponent exponent) const {
  if (-kTable <= exponent && exponent <= kTable) {
    return powers_[exponent + kTable];
  }
  const WideExponent order = static_cast<WideExponent>(prime_) - 1;
  auto left = static_cast<std::uint64_t>((exponent % order + order) % order);
  std::uint64_t result = 1;
  for (std::uint64_t square = 2; left > 0; left >>= 1, square = multiply(square, square)) {
    if (left & 1) result = multiply(result, square);
  }
  return result;
}

std::uint64_t PrimeField::of(const SignedLimbs& x) const {
  if (x.magnitude.empty()) return 0;
  const std::uint64_t residue =
      mpn_mod_1(x.magnitude.data(), static_cast<mp_size_t>(x.magnitude.size()), prime_);
  return x.negative ? subtract(0, residue) : residue;
}

std::uint64_t PrimeField::of(mpfr_srcptr x) const {
  if (!mpfr_regular_p(x)) return 0;
  const auto* const limbs = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x));
  const auto count =
      static_cast<std::size_t>((mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS);
  const WideExponent last =
      static_cast<WideExponent>(mpfr_get_exp(x)) - static_cast<WideExponent>(count * GMP_NUMB_BITS);
  return multiply(of(SignedLimbs{mpfr_signbit(x) != 0, {limbs, count}}), power_of_two(last));
}

std::uint64_t PrimeField::weight(int j) const {
  return core::random_bits(seed_, static_cast<std::uint64_t>(j) + 1) % prime_;
}

Sketch::Sketch(const PrimeField& field, int rows, int first_column, int threads)
    : field_(field),
      first_column_(first_column),
      sums_(threads, std::vector<std::uint64_t>(rows)) {}

std::vector<std::uint64_t> Sketch::rows() const {
  std::vector<std::uint64_t> rows = sums_[0];
  for (std::size_t thread = 1; thread < sums_.size(); ++thread) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = field_.add(rows[i], sums_[thread][i]);
  }
  return rows;
}

ExactSum::~ExactSum() {
  for (__mpfr_struct& product : products_) mpfr_clear(&product);
}

void ExactSum::grow(std::size_t terms) {
  products_.reserve(terms);
  while (products_.size() < terms) mpfr_init(&products_.emplace_back());
  pointers_.clear();
  for (__mpfr_struct& product : products_) pointers_.push_back(&product);
}

void ExactSum::compute(mpfr_ptr result, std::span<const __mpfr_struct> x,
                       std::span<const __mpfr_struct> y, mpfr_rnd_t rounding,
                       const ExponentRange& range) {
  if (x.size() > products_.size()) grow(x.size());
  const WideExponent shift = static_cast<WideExponent>(copy_scaled(x, x_)) + copy_scaled(y, y_);
  for (std::size_t t = 0; t < x.size(); ++t) {
    const mpfr_prec_t exact = mpfr_get_prec(&x_[t]) + mpfr_get_prec(&y_[t]);
    if (mpfr_get_prec(&products_[t]) != exact) mpfr_set_prec(&products_[t], exact);
    mpfr_mul(&products_[t], &x_[t], &y_[t], MPFR_RNDN);
  }
  const int ternary = mpfr_sum(result, pointers_.data(), x.size(), rounding);
  shift_into_range(result, ternary, shift, rounding, range);
}

ElementWriter::ElementWriter(const Operands& operands, const Target& target, std::size_t thread)
    : operands_(operands), target_(target), thread_(thread) {}

ElementWriter::~ElementWriter() {
  for (__mpfr_struct& value : values_) mpfr_clear(&value);
}

void ElementWriter::take_terms(const ElementIndex& at) {
  x_.clear();
  y_.clear();
  operands_.append_row(at.i, at.part, x_);
  operands_.append_column(at.j, at.part, y_);
}

void ElementWriter::write_zero(const ElementIndex& at) {
  take_terms(at);
  const bool negative = zero_is_negative(x_, y_, target_.rounding);
  mpfr_set_zero(target_.at(at.i, at.j, at.part), negative ? -1 : 1);
}

void ElementWriter::add_to_sketch(const ElementIndex& at, std::uint64_t exact) {
  // A complex number's parts count as columns of their own.
  Sketch& sketch = *target_.sketch;
  const int parts = operands_.parts;
  sketch.add(thread_, at.i, sketch.weight(at.j * parts + at.part), exact,
             target_.at(at.i, at.j, at.part));
}

void ElementWriter::write(const ElementIndex& at, const SignedLimbs& value, WideExponent shift) {
  if (value.magnitude.empty()) return write_zero(at);
  round_to(target_.at(at.i, at.j, at.part), value, shift, target_.rounding, target_.range);
  if (target_.sketch == nullptr) return;
  const PrimeField& field = target_.sketch->field();
  add_to_sketch(at, field.multiply(field.of(value), field.power_of_two(shift)));
}

void ElementWriter::write_sum(const ElementIndex& at, std::span<const SignedLimbs> values,
                              std::span<const WideExponent> shifts) {
  values_.reserve(values.size());
  while (values_.size() < values.size()) mpfr_init(&values_.emplace_back());
  const WideExponent base = *std::ranges::max_element(shifts);
  pointers_.clear();
  std::uint64_t exact = 0;
  for (std::size_t t = 0; t < values.size(); ++t) {
    const SignedLimbs& value = values[t];
    if (value.magnitude.empty()) continue;
    const mpfr_ptr x = &values_[t];
    mpfr_set_prec(x, static_cast<mpfr_prec_t>(value.magnitude.size()) * GMP_NUMB_BITS);
    mpz_t whole;
    const auto size = static_cast<mp_size_t>(value.magnitude.size());
    mpz_roinit_n(whole, value.magnitude.data(), value.negative ? -size : size);
    mpfr_set_z_2exp(x, whole, static_cast<mpfr_exp_t>(shifts[t] - base), MPFR_RNDN);
    pointers_.push_back(x);
    if (target_.sketch != nullptr) {
      const PrimeField& field = target_.sketch->field();
      exact = field.add(exact, field.multiply(field.of(value), field.power_of_two(shifts[t])));
    }
  }
  const mpfr_ptr c = target_.at(at.i, at.j, at.part);
  const int ternary = mpfr_sum(c, pointers_.data(), pointers_.size(), target_.rounding);
  if (mpfr_zero_p(c)) return write_zero(at);
  shift_into_range(c, ternary, base, target_.rounding, target_.range);
  if (target_.sketch != nullptr) add_to_sketch(at, exact);
}

void ElementWriter::write_by_mpfr(const ElementIndex& at) {
  take_terms(at);
  sum_.compute(target_.at(at.i, at.j, at.part), x_, y_, target_.rounding, target_.range);
  if (target_.sketch == nullptr) return;
  const auto finite = [](const __mpfr_struct& x) { return mpfr_number_p(&x) != 0; };
  if (!std::ranges::all_of(x_, finite) || !std::ranges::all_of(y_, finite)) {
    return;
  }
  const PrimeField& field = target_.sketch->field();
  std::uint64_t exact = 0;
  for (std::size_t t = 0; t < x_.size(); ++t) {
    exact = field.add(exact, field.multiply(field.of(&x_[t]), field.of(&y_[t])));
  }
  add_to_sketch(at, exact);
}

solver::Check verify(const Operands& operands, const Target& target, const PrimeField& field,
                     std::span<const std::uint64_t> sketch) {
  const std::vector<std::uint64_t> weights = weights_of(operands, field);
  const std::vector<std::uint64_t> weighed = weigh(operands, field, weights);
  int wrong = wrong_of_drawn(operands, target, field.prime());
  for (int i = 0; i < operands.rows(); ++i) {
    const std::uint64_t own = sketch[i];
    if (row_is_wrong(operands, target, field, i, weights, weighed, own)) ++wrong;
  }
  return {static_cast<double>(wrong), 0};
}

}  // namespace tabane::matmul
