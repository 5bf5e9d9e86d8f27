// How large the noise of a ciphertext is expected to be: the estimates that choose parameters and
// that every ciphertext carries.
//
// The phase c0 + c1 s + c2 s^2 is the message plus t times an error, and decrypts as long as no
// coefficient reaches half of the modulus. A Deviation is the logarithm to base 2 of the phase's
// standard deviation per coefficient: coefficients of products behave like sums of N independent
// terms, as messages with slots of either kind do. Sums are counted as if their terms depended on
// each other, which no choice of terms exceeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tabane::mine::bgv {

// Of the errors: centred binomial, of 21 pairs of bits, so sqrt(21 / 2).
inline constexpr double kErrorVariance = 10.5;

// No coefficient among those of a database exceeds so many deviations, but for one chance in 10^20
// (10 deviations); 20 % are for what the model leaves out.
inline constexpr double kDeviations = 12;

class NoiseModel {
 public:
  // degree N, plaintext modulus t.
  NoiseModel(std::size_t degree, std::uint64_t plaintext_modulus);

  // All take and return deviations as logarithms to base 2.
  double fresh_secret_key() const;
  double fresh_public_key() const;
  double sum(double a, double b) const;
  double product(double a, double b) const;
  double times_constant(double a, double centred_factor) const;
  // After division by a prime; components: 2, or 3 before relinearisation.
  double switched(double a, double prime_bits, int components) const;
  // What a key switch adds: one digit for each prime, and the division by the special one.
  double key_switch(std::span<const std::uint64_t> digits, std::uint64_t special) const;

 private:
  double rounding_variance(int components) const;

  double n_, t_, product_growth_;
};

// The bits that a phase of this deviation needs in the modulus: its bound, doubled for the sign.
double needed_bits(double deviation);

}  // namespace tabane::mine::bgv
