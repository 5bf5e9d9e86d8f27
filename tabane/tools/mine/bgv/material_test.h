// What the tests of this folder share: vectors of numbers, and keys with everything around them.
#pragma once

#include <gtest/gtest.h>

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

// One key pair and what works with it.
struct Material {
  explicit Material(const Parameters& parameters, std::uint8_t number = 1)
      : context(make_context(parameters)),
        secret(SecretKey::generate(context, KeyId{number}, stream_of(number))),
        public_key(PublicKey::generate(secret, stream_of(number + 100))) {
    if (parameters.has_special_prime()) {
      keys = EvaluationKeys::generate(secret, {.relinearisation = true, .rotations = true},
                                      stream_of(number + 101));
    }
  }

  std::uint64_t t() const { return context->plaintext_modulus().value(); }
  Slots random(std::uint64_t start) const { return random_slots(context->degree(), t(), start); }
  Ciphertext encrypt(const Slots& slots, std::uint8_t number) const {
    return Encryptor(context, public_key).encrypt(encoder.encode(slots), stream_of(number));
  }
  Ciphertext encrypt_secretly(const Slots& slots, std::uint8_t number) const {
    return Encryptor(secret).encrypt(encoder.encode(slots), stream_of(number));
  }
  Slots decrypt(const CiphertextView& c) const {
    return encoder.decode(Decryptor(secret).decrypt(c));
  }
  // The noise is within the estimate, and the estimate is not idle: not 24 bits above.
  void expect_noise_within_estimate(const CiphertextView& c) const {
    const double noise = Decryptor(secret).noise_bits(c), bound = c.deviation + 3.59;
    EXPECT_LE(noise, bound);
    EXPECT_GE(noise, bound - 24);
  }

  SharedContext context;
  SecretKey secret;
  PublicKey public_key;
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
