#include "tabane/tools/matmul/exact_sum.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tabane/core/error.h"

namespace tabane::matmul {
namespace {

constexpr std::int64_t kMostSpread = std::int64_t{1} << 60;

// Copies with exponents of at most 0, which share the digits. Returns what was taken away.
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

}  // namespace

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

}  // namespace tabane::matmul
