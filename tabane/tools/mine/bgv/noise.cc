#include "tabane/tools/mine/bgv/noise.h"

#include <cmath>

namespace tabane::mine::bgv {
namespace {

constexpr double kTernaryVariance = 2.0 / 3;

// log2 sqrt(2^2a + 2^2b).
double together(double a, double b) {
  const double most = std::fmax(a, b), least = std::fmin(a, b);
  return most + 0.5 * std::log2(1 + std::exp2(2 * (least - most)));
}

}  // namespace

NoiseModel::NoiseModel(std::size_t degree, std::uint64_t plaintext_modulus)
    : n_(static_cast<double>(degree)),
      t_(static_cast<double>(plaintext_modulus)),
      product_growth_(0.5 * std::log2(n_)) {}

// The phase is m + t e, with m uniform modulo t.
double NoiseModel::fresh_secret_key() const {
  return 0.5 * std::log2(t_ * t_ * (kErrorVariance + 1.0 / 12));
}

// m + t (e u + e0 + e1 s).
double NoiseModel::fresh_public_key() const {
  const double errors = kErrorVariance * (2 * n_ * kTernaryVariance + 1);
  return 0.5 * std::log2(t_ * t_ * (errors + 1.0 / 12));
}

double NoiseModel::sum(double a, double b) const { return std::log2(std::exp2(a) + std::exp2(b)); }

double NoiseModel::product(double a, double b) const { return a + b + product_growth_; }

double NoiseModel::times_constant(double a, double centred_factor) const {
  return a + std::log2(std::fmax(1.0, std::fabs(centred_factor)));
}

// delta is uniform in t times (-q/2, q/2), for each component; over q it is t / sqrt(12), and meets
// 1, s and s^2, whose coefficients have variances of 2/3 and about 4/9 N.
double NoiseModel::rounding_variance(int components) const {
  double with_secret = 1 + n_ * kTernaryVariance;
  if (components > 2) with_secret += n_ * n_ * kTernaryVariance * kTernaryVariance;
  return t_ * t_ / 12 * with_secret;
}

double NoiseModel::switched(double a, double prime_bits, int components) const {
  return together(a - prime_bits, 0.5 * std::log2(rounding_variance(components)));
}

// sum over the digits of d_i t e_i / P with d_i uniform in (-q_i/2, q_i/2).
double NoiseModel::key_switch(std::span<const std::uint64_t> digits, std::uint64_t special) const {
  double digits_variance = 0;
  for (const std::uint64_t q : digits) {
    const double over = static_cast<double>(q) / static_cast<double>(special);
    digits_variance += over * over / 12;
  }
  return 0.5 * std::log2(n_ * digits_variance * kErrorVariance * t_ * t_ + rounding_variance(2));
}

double needed_bits(double deviation) { return deviation + std::log2(2 * kDeviations); }

}  // namespace tabane::mine::bgv
