// The sizes of the scheme, chosen by a model of the noise and checked against a table of security;
// and the tables that follow from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "tabane/tools/mine/bgv/modulus.h"
#include "tabane/tools/mine/bgv/ntt.h"

namespace tabane::mine::bgv {

// Returns how many bits the product of all primes, the special one included, may have for a degree
// in the table of security; 0: it does not have this degree. For ternary secrets, errors of
// deviation 3.2, 128 bits of classical security. Source: Bossuat et al., Security Guidelines for
// Implementing Homomorphic Encryption, 2024, ia.cr/2024/463.
int max_modulus_bits(std::size_t degree);

// A computation that parameters are chosen for.
struct Computation {
  int depth = 1;                                  // multiplications on top of each other
  std::uint64_t least_plaintext_modulus = 65537;  // t becomes the least suitable prime from here on
  std::uint64_t values = 1;                       // in one sum; a ciphertext holds N of them
  bool sum_slots = false;       // rotations add up the slots, so that only totals are decrypted
  std::size_t degree = 0;       // 0: the least that suffices
  bool allow_insecure = false;  // a degree below the security table's
};

// The numbers that make up parameters.
struct ParameterValues {
  std::size_t degree = 0;               // N, a power of two from 32 to 32768
  std::uint64_t plaintext_modulus = 0;  // t, a prime = 1 modulo 2 N
  std::vector<std::uint64_t> primes;  // q_1 … q_k = 1 modulo 2 N and t; the last is dropped first
  std::uint64_t special_prime = 0;    // of key switching, of the same kind; 0: no evaluation keys
  bool allow_insecure = false;

  auto fields() {
    return std::tie(degree, plaintext_modulus, primes, special_prime, allow_insecure);
  }
};

// Immutable; every object has passed all checks.
class Parameters {
 public:
  // Chooses the least degree, then the fewest and then the largest primes for which the noise of
  // the computation fits and security is 128 bits. throws: core::UsageError saying what would help,
  // if there are none.
  static Parameters choose(const Computation& computation);

  // throws: core::UsageError naming the wrong value, or, if only security is missing, the option
  // that allows it.
  explicit Parameters(ParameterValues values);

  const ParameterValues& values() const { return values_; }
  std::size_t degree() const { return values_.degree; }
  std::size_t slots() const { return values_.degree; }
  std::uint64_t plaintext_modulus() const { return values_.plaintext_modulus; }
  const std::vector<std::uint64_t>& primes() const { return values_.primes; }
  std::uint64_t special_prime() const { return values_.special_prime; }
  bool has_special_prime() const { return values_.special_prime != 0; }

  double modulus_bits() const;  // log2 of the product of all primes, the special one included
  bool secure() const;          // by the security table, 128 bits

 private:
  ParameterValues values_;
};

// Returns the bits that the noise of a computation's result leaves free in the modulus; below 0: it
// does not fit. The model: each multiplication of fresh ciphertexts but the last is followed by
// relinearisation and the loss of a prime; sums go over all blocks and, if wanted, over slots.
double spare_bits(const Parameters& parameters, const Computation& computation);

// ---- noise: how large that of a ciphertext is expected to be ----
//
// The phase c0 + c1 s + c2 s^2 is the message plus t times an error, and decrypts as long as no
// coefficient reaches half of the modulus. A deviation is the logarithm to base 2 of the phase's
// standard deviation per coefficient: coefficients of products behave like sums of N independent
// terms, as messages with slots of either kind do. Sums are counted as if their terms depended on
// each other, which no choice of terms exceeds. These estimates choose parameters, and every
// ciphertext carries its own.

// The errors are centred binomial, of 21 pairs of bits: variance 21 / 2.
inline constexpr double kErrorVariance = 10.5;

// No coefficient among those of a database exceeds so many deviations, but for one chance in 10^20
// (10 deviations); 20 % are for what the model leaves out.
inline constexpr double kDeviations = 12;

class NoiseModel {
 public:
  NoiseModel(std::size_t degree, std::uint64_t plaintext_modulus);

  // All take and return deviations as logarithms to base 2.
  double fresh() const;
  double sum(double a, double b) const;
  double product(double a, double b) const;
  // After division by a prime; components: 2, or 3 before relinearisation.
  double switched(double a, double prime_bits, int components) const;
  // Of what a key switch adds: one digit for each prime, and the division by the special one.
  double key_switch(std::span<const std::uint64_t> digits, std::uint64_t special) const;

 private:
  double rounding_variance(int components) const;

  double n_, t_, product_growth_;
};

// Returns the bits of modulus that a phase of this deviation needs: its bound, doubled for the
// sign.
double needed_bits(double deviation);

// ---- tables ----

// The tables that all operations with one set of parameters share, made once and never changed.
// Safe in threads and after a fork. cost: about a millisecond and 4 N words a prime.
class Context {
 public:
  explicit Context(Parameters parameters);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Parameters& parameters() const { return parameters_; }
  std::size_t degree() const { return parameters_.degree(); }
  // The primes of the ciphertext modulus, then the special one, if there is one.
  std::size_t primes() const { return parameters_.primes().size(); }
  std::size_t moduli() const { return ntts_.size(); }
  std::size_t special() const { return primes(); }  // the index of the special one
  const Modulus& modulus(std::size_t i) const { return ntts_[i].modulus(); }
  const Ntt& ntt(std::size_t i) const { return ntts_[i]; }
  const Modulus& plaintext_modulus() const { return plaintext_ntt_.modulus(); }
  const Ntt& plaintext_ntt() const { return plaintext_ntt_; }
  const NoiseModel& noise() const { return noise_; }

 private:
  Parameters parameters_;
  std::vector<Ntt> ntts_;
  Ntt plaintext_ntt_;
  NoiseModel noise_;
};

using SharedContext = std::shared_ptr<const Context>;

inline SharedContext make_context(Parameters parameters) {
  return std::make_shared<const Context>(std::move(parameters));
}

}  // namespace tabane::mine::bgv
