#include "tabane/tools/mine/bgv/encryption.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/mine/bgv/evaluator.h"
#include "tabane/tools/mine/bgv/modulus.h"

namespace tabane::mine::bgv {

Encoder::Encoder(SharedContext context) : context_(std::move(context)), positions_(slots()) {
  const std::size_t n = slots();
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < n / 2; ++i) {
    positions_[i] = static_cast<std::uint32_t>(position_of(n, power));
    positions_[n / 2 + i] = static_cast<std::uint32_t>(position_of(n, 2 * n - power));
    power = power * 3 & (2 * n - 1);
  }
}

Plaintext Encoder::encode(std::span<const std::uint64_t> slots) const {
  const std::uint64_t t = context_->plaintext_modulus().value();
  if (slots.size() > this->slots()) {
    throw core::UsageError("a plaintext has {} slots, not {}", this->slots(), slots.size());
  }
  Plaintext plaintext{Words(this->slots(), 0)};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= t) {
      throw core::UsageError("slot {} holds {}; the plaintext modulus is {}", i, slots[i], t);
    }
    plaintext.coefficients[positions_[i]] = slots[i];
  }
  context_->plaintext_ntt().inverse(plaintext.coefficients);
  return plaintext;
}

std::vector<std::uint64_t> Encoder::decode(const Plaintext& plaintext) const {
  TABANE_ASSERT(plaintext.coefficients.size() == slots());
  Words values = plaintext.coefficients;
  context_->plaintext_ntt().forward(values);
  std::vector<std::uint64_t> slots(values.size());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = values[positions_[i]];
  return slots;
}

std::uint64_t Encoder::sum(const Plaintext& plaintext) const {
  const std::vector<std::uint64_t> slots = decode(plaintext);
  return std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
}

namespace {

// out = m + t e, as values.
void message_and_error(const Context& context, std::size_t prime, const Plaintext& plaintext,
                       std::span<const std::int8_t> errors, Residues out) {
  const Modulus& q = context.modulus(prime);
  const auto t = static_cast<std::int64_t>(context.plaintext_modulus().value());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t m = context.plaintext_modulus().centred(plaintext.coefficients[i]);
    out[i] = q.reduce_signed(m + t * errors[i]);
  }
  context.ntt(prime).forward(out);
}

void check(const SecretKey& key, const CiphertextView& c) {
  const Context& context = *key.context();
  if (c.key != key.id()) {
    throw core::UsageError("the ciphertext was made with another key than the one at hand");
  }
  if (c.degree != context.degree() || c.primes == 0 || c.primes > context.primes() ||
      c.components < 2 || c.components > 3) {
    throw core::UsageError("the ciphertext is for other parameters than the key");
  }
}

}  // namespace

Ciphertext encrypt(const SecretKey& key, const Plaintext& plaintext, RandomStream random) {
  const Context& context = *key.context();
  const std::size_t n = context.degree(), primes = context.primes();
  TABANE_ASSERT(plaintext.coefficients.size() == n);
  Ciphertext c(n, 2, primes);
  c.seed = random.seed();
  c.key = key.id();
  c.deviation = context.noise().fresh();
  expand(context, *c.seed, 1, primes, c.words().subspan(primes * n));
  std::vector<std::int8_t> errors(n);
  Words product(n);  // a s, from which s follows
  const crypto::WipedAtEnd end_of_errors(errors), end_of_product(product);
  draw_errors(random, errors);
  for (std::size_t j = 0; j < primes; ++j) {
    const Residues c0 = c.residues(0, j);
    message_and_error(context, j, plaintext, errors, c0);
    multiply(context.modulus(j), c.residues(1, j), key.values(j), product);
    subtract(context.modulus(j), c0, product, c0);
  }
  return c;
}

Words phase_of(const SecretKey& key, const CiphertextView& c) {
  check(key, c);
  const Context& context = *key.context();
  const std::size_t n = context.degree();
  Words phase(c.primes * n);
  for (std::size_t j = 0; j < c.primes; ++j) {
    const Modulus& q = context.modulus(j);
    const Residues out = std::span(phase).subspan(j * n, n);
    std::ranges::copy(c.residues(c.components - 1, j), out.begin());
    for (std::size_t component = c.components - 1; component-- > 0;) {
      multiply(q, out, key.values(j), out);
      add(q, out, c.residues(component, j), out);
    }
    context.ntt(j).inverse(out);
  }
  return phase;
}

// With more than two primes the noise is divided first: what is added to it is far below two
// primes. A phase modulo both is low + high q0; q0 is 1 modulo t, as all primes are.
Plaintext decrypt(const SecretKey& key, const CiphertextView& c) {
  __extension__ using Wide = unsigned __int128;
  check(key, c);
  if (c.primes > 2) return decrypt(key, Evaluator(key.context()).switch_modulus_to(c, 2));
  const Words phase = phase_of(key, c);
  const Context& context = *key.context();
  const Modulus &t = context.plaintext_modulus(), &q0 = context.modulus(0);
  const Modulus& q1 = context.modulus(c.primes - 1);
  const bool two = c.primes == 2;
  const Wide product = two ? static_cast<Wide>(q0.value()) * q1.value() : q0.value();
  if (needed_bits(c.deviation) > std::log2(static_cast<double>(product))) {
    throw core::Error("the ciphertext holds more noise than its modulus: the result is lost");
  }
  const std::uint64_t inverse = two ? q1.inverse(q1.reduce(q0.value())) : 0;
  Plaintext plaintext{Words(c.degree)};
  for (std::size_t i = 0; i < c.degree; ++i) {
    const std::uint64_t low = phase[i];
    std::uint64_t high = 0;
    if (two) high = q1.multiply(q1.subtract(phase[c.degree + i], q1.reduce(low)), inverse);
    const std::uint64_t residue = t.add(t.reduce(low), t.reduce(high));
    const bool negative = low + static_cast<Wide>(high) * q0.value() > product / 2;
    plaintext.coefficients[i] = negative ? t.subtract(residue, 1) : residue;
  }
  return plaintext;
}

}  // namespace tabane::mine::bgv
