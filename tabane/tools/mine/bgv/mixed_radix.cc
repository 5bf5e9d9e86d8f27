#include "tabane/tools/mine/bgv/mixed_radix.h"

#include <cmath>

#include "tabane/core/error.h"

namespace tabane::mine::bgv {

MixedRadix::MixedRadix(const Context& context, std::size_t primes)
    : context_(context), primes_(primes), inverses_(primes * primes), weights_(primes + 1) {
  TABANE_ASSERT(primes >= 1 && primes <= half_.size() && primes <= context.primes());
  const Modulus& t = context.plaintext_modulus();
  Digits half{};
  weights_[0] = 1;
  for (std::size_t i = 0; i < primes; ++i) {
    const Modulus& q = context.modulus(i);
    for (std::size_t j = 0; j < i; ++j) {
      inverses_[i * primes + j] = q.inverse(q.reduce(context.modulus(j).value()));
    }
    weights_[i + 1] = t.multiply(weights_[i], t.reduce(q.value()));
    half[i] = (q.value() - 1) / 2;  // (Q - 1) / 2 = -1/2 = (q - 1) / 2 modulo each q
  }
  half_ = digits(half);
}

MixedRadix::Digits MixedRadix::digits(const Digits& residues) const {
  Digits digits = residues;
  for (std::size_t i = 1; i < primes_; ++i) {
    const Modulus& q = context_.modulus(i);
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint64_t difference = q.subtract(digits[i], q.reduce(digits[j]));
      digits[i] = q.multiply(difference, inverses_[i * primes_ + j]);
    }
  }
  return digits;
}

bool MixedRadix::negative(const Digits& digits) const {
  for (std::size_t i = primes_; i-- > 0;) {
    if (digits[i] != half_[i]) return digits[i] > half_[i];
  }
  return false;
}

std::uint64_t MixedRadix::centred_modulo_t(const Digits& digits) const {
  const Modulus& t = context_.plaintext_modulus();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < primes_; ++i) {
    sum = t.add(sum, t.multiply(t.reduce(digits[i]), weights_[i]));
  }
  return negative(digits) ? t.subtract(sum, weights_[primes_]) : sum;
}

// -x has the digits q_i - 1 - d_i, and 1 more.
double MixedRadix::log2_magnitude(const Digits& digits) const {
  const bool minus = negative(digits);
  double magnitude = 0, scale = 0;  // the number is magnitude 2^scale, once a digit is not 0
  for (std::size_t i = primes_; i-- > 0;) {
    const std::uint64_t q = context_.modulus(i).value();
    const double digit = static_cast<double>(minus ? q - 1 - digits[i] : digits[i]);
    const double bits = std::log2(static_cast<double>(q));
    // Digits above are worth q of this one; beyond 2^60 this one no longer counts.
    if (magnitude < 0x1p60) {
      magnitude = magnitude * static_cast<double>(q) + digit;
    } else {
      scale += bits;
    }
  }
  if (minus) magnitude += 1;
  return magnitude == 0 ? 0 : std::log2(magnitude) + scale;
}

double MixedRadix::log2_half_modulus() const {
  double bits = -1;
  for (std::size_t i = 0; i < primes_; ++i) {
    bits += std::log2(static_cast<double>(context_.modulus(i).value()));
  }
  return bits;
}

}  // namespace tabane::mine::bgv
