// What the tests of this folder share: vectors of numbers, and keys with everything around them.
#pragma once

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tabane/simd/target.h"
#include "tabane/tools/mine/bgv/encryption.h"
#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/bgv/keys.h"

namespace tabane::mine::bgv {

using Slots = std::vector<std::uint64_t>;

inline Seed seed_of(std::uint8_t number) {
  Seed seed{};
  seed[0] = number;
  return seed;
}
inline RandomStream stream_of(std::uint8_t number) { return RandomStream(seed_of(number)); }

// n numbers below `end`, spread by a generator with a fixed start.
inline Slots random_slots(std::size_t n, std::uint64_t end, std::uint64_t start) {
  std::mt19937_64 random(start);
  Slots slots(n);
  for (std::uint64_t& slot : slots) slot = random() % end;
  return slots;
}

inline Words random_residues(std::size_t n, std::uint64_t end, std::uint64_t start) {
  const Slots slots = random_slots(n, end, start);
  return {slots.begin(), slots.end()};
}

// Calls f on every target that this processor has.
template <class F>
void on_every_target(F f) {
  for (const std::string& name : simd::target_names()) {
    SCOPED_TRACE("target " + name);
    const simd::ScopedTarget target(name);
    f();
  }
}

// log2 of the largest coefficient of the phase, put together from its residues by GMP.
inline double noise_bits(const SecretKey& key, const CiphertextView& c) {
  const Context& context = *key.context();
  const Words phase = phase_of(key, c);
  mpz_class product = 1, most = 0;
  for (std::size_t j = 0; j < c.primes; ++j) product *= context.modulus(j).value();
  std::vector<mpz_class> weights;  // 1 modulo a prime, 0 modulo the others
  for (std::size_t j = 0; j < c.primes; ++j) {
    const Modulus& q = context.modulus(j);
    const mpz_class others = product / q.value();
    weights.push_back(others * q.inverse(mpz_class(others % q.value()).get_ui()));
  }
  for (std::size_t i = 0; i < c.degree; ++i) {
    mpz_class x = 0;
    for (std::size_t j = 0; j < c.primes; ++j) x += weights[j] * phase[j * c.degree + i];
    x %= product;
    most = std::max<mpz_class>(most, std::min<mpz_class>(x, product - x));
  }
  long exponent = 0;
  const double mantissa = mpz_get_d_2exp(&exponent, most.get_mpz_t());
  return most == 0 ? 0 : std::log2(mantissa) + static_cast<double>(exponent);
}

// One key pair and what works with it.
struct Material {
  explicit Material(const Parameters& parameters, std::uint8_t number = 1)
      : context(make_context(parameters)),
        secret(SecretKey::generate(context, KeyId{number}, stream_of(number))) {
    if (parameters.has_special_prime()) {
      keys = EvaluationKeys::generate(secret, true, stream_of(number + 101));
    }
  }

  std::uint64_t t() const { return context->plaintext_modulus().value(); }
  Slots random(std::uint64_t start) const { return random_slots(context->degree(), t(), start); }
  Ciphertext encrypt(const Slots& slots, std::uint8_t number) const {
    return bgv::encrypt(secret, encoder.encode(slots), stream_of(number));
  }
  Slots decrypt(const CiphertextView& c) const { return encoder.decode(bgv::decrypt(secret, c)); }
  // The noise is within the estimate, and the estimate is not idle: not 24 bits above.
  void expect_noise_within_estimate(const CiphertextView& c) const {
    const double noise = noise_bits(secret, c), bound = c.deviation + 3.59;
    EXPECT_LE(noise, bound);
    EXPECT_GE(noise, bound - 24);
  }

  SharedContext context;
  SecretKey secret;
  EvaluationKeys keys;
  Encoder encoder{context};
  Evaluator evaluator{context, &keys};
};

inline Parameters parameters_for(int depth, std::size_t degree = 0) {
  return Parameters::choose({.depth = depth, .values = 100000, .degree = degree});
}

// Toys with a special prime: fast, and insecure.
inline Parameters toy(int depth = 3, std::size_t degree = 64) {
  return Parameters::choose(
      {.depth = depth, .values = 1000, .degree = degree, .allow_insecure = true});
}

}  // namespace tabane::mine::bgv
