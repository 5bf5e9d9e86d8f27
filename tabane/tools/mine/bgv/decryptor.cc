#include "tabane/tools/mine/bgv/decryptor.h"

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/mixed_radix.h"
#include "tabane/tools/mine/bgv/pointwise.h"

namespace tabane::mine::bgv {
namespace {

// Calls f with the digits of each coefficient.
template <class F>
void for_digits(const MixedRadix& radix, const Words& phase, std::size_t n, std::size_t primes,
                const F& f) {
  MixedRadix::Digits residues{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < primes; ++j) residues[j] = phase[j * n + i];
    f(i, radix.digits(residues));
  }
}

}  // namespace

Decryptor::Decryptor(const SecretKey& key) : key_(key) {}

// c0 + s (c1 + s c2) as coefficients, [prime][N].
Words Decryptor::phase(const CiphertextView& c) const {
  const Context& context = *key_.context();
  const std::size_t n = context.degree();
  if (c.key != key_.id()) {
    throw core::UsageError("the ciphertext was made with another key than the one at hand");
  }
  if (c.degree != n || c.primes == 0 || c.primes > context.primes() || c.components < 2 ||
      c.components > 3) {
    throw core::UsageError("the ciphertext is for other parameters than the key");
  }
  Words phase(c.primes * n);
  for (std::size_t j = 0; j < c.primes; ++j) {
    const Modulus& q = context.modulus(j);
    const Residues out = std::span(phase).subspan(j * n, n);
    std::ranges::copy(c.residues(c.components - 1, j), out.begin());
    for (std::size_t component = c.components - 1; component-- > 0;) {
      multiply(q, out, key_.values(j), out);
      add(q, out, c.residues(component, j), out);
    }
    context.ntt(j).inverse(out);
  }
  return phase;
}

Plaintext Decryptor::decrypt(const CiphertextView& c) const {
  const Words all = phase(c);
  const MixedRadix radix(*key_.context(), c.primes);
  if (needed_bits(c.deviation) > radix.log2_half_modulus() + 1) {
    throw core::Error("the ciphertext holds more noise than its modulus: the result is lost");
  }
  Plaintext plaintext{Words(c.degree)};
  for_digits(radix, all, c.degree, c.primes, [&](std::size_t i, const MixedRadix::Digits& digits) {
    plaintext.coefficients[i] = radix.centred_modulo_t(digits);
  });
  return plaintext;
}

double Decryptor::noise_bits(const CiphertextView& c) const {
  const Words all = phase(c);
  const MixedRadix radix(*key_.context(), c.primes);
  double most = 0;
  for_digits(radix, all, c.degree, c.primes, [&](std::size_t, const MixedRadix::Digits& digits) {
    most = std::max(most, radix.log2_magnitude(digits));
  });
  return most;
}

double Decryptor::budget_bits(const CiphertextView& c) const {
  return MixedRadix(*key_.context(), c.primes).log2_half_modulus() - noise_bits(c);
}

}  // namespace tabane::mine::bgv
