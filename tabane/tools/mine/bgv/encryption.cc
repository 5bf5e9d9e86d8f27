#include "tabane/tools/mine/bgv/encryption.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
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

template <class T>
Plaintext Encoder::encode_slots(std::span<const T> slots) const {
  const std::uint64_t t = context_->plaintext_modulus().value();
  if (slots.size() > this->slots()) {
    throw core::UsageError(
        fmt::format("a plaintext has {} slots, not {}", this->slots(), slots.size()));
  }
  Plaintext plaintext{Words(this->slots(), 0)};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= t) {
      throw core::UsageError(
          fmt::format("slot {} holds {}; the plaintext modulus is {}", i, slots[i], t));
    }
    plaintext.coefficients[positions_[i]] = slots[i];
  }
  context_->plaintext_ntt().inverse(plaintext.coefficients);
  return plaintext;
}

Plaintext Encoder::encode(std::span<const std::uint64_t> slots) const {
  return encode_slots(slots);
}
Plaintext Encoder::encode(std::span<const std::uint8_t> slots) const { return encode_slots(slots); }

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

// Small random polynomials, wiped when they go.
struct Small {
  explicit Small(std::size_t n) : values(n), end(values) {}
  std::vector<std::int8_t> values;
  crypto::WipedAtEnd end;
};

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

}  // namespace

Encryptor::Encryptor(const SecretKey& key) : context_(key.context()), secret_(&key) {}

Encryptor::Encryptor(SharedContext context, const PublicKey& key)
    : context_(std::move(context)), public_(&key) {
  const std::size_t words = context_->primes() * context_->degree();
  if (key.a.size() != words || key.b.size() != words) {
    throw core::UsageError("the public key is for other parameters");
  }
}

Ciphertext Encryptor::encrypt(const Plaintext& plaintext, RandomStream random) const {
  TABANE_ASSERT(plaintext.coefficients.size() == context_->degree());
  return secret_ != nullptr ? with_secret_key(plaintext, random)
                            : with_public_key(plaintext, random);
}

Ciphertext Encryptor::with_secret_key(const Plaintext& plaintext, RandomStream& random) const {
  const std::size_t n = context_->degree(), primes = context_->primes();
  Ciphertext c(n, 2, primes);
  c.seed = random.seed();
  c.key = secret_->id();
  c.deviation = context_->noise().fresh_secret_key();
  expand(*context_, *c.seed, 1, primes, c.words().subspan(primes * n));
  Small errors(n);
  draw_errors(random, errors.values);
  Words product(n);  // a s, from which s follows
  const crypto::WipedAtEnd end(product);
  for (std::size_t j = 0; j < primes; ++j) {
    const Residues c0 = c.residues(0, j);
    message_and_error(*context_, j, plaintext, errors.values, c0);
    multiply(context_->modulus(j), c.residues(1, j), secret_->values(j), product);
    subtract(context_->modulus(j), c0, product, c0);
  }
  return c;
}

Ciphertext Encryptor::with_public_key(const Plaintext& plaintext, RandomStream& random) const {
  const std::size_t n = context_->degree(), primes = context_->primes();
  Ciphertext c(n, 2, primes);
  c.key = public_->id;
  c.deviation = context_->noise().fresh_public_key();
  Small u(n), e0(n), e1(n);
  draw_ternary(random, u.values);
  draw_errors(random, e0.values);
  draw_errors(random, e1.values);
  const std::uint64_t t = context_->plaintext_modulus().value();
  Words small(n);
  const crypto::WipedAtEnd end(small);
  for (std::size_t j = 0; j < primes; ++j) {
    const Modulus& q = context_->modulus(j);
    const Residues c0 = c.residues(0, j), c1 = c.residues(1, j);
    message_and_error(*context_, j, plaintext, e0.values, c0);
    lift(q, e1.values, t, c1);
    context_->ntt(j).forward(c1);
    lift(q, u.values, 1, small);
    context_->ntt(j).forward(small);
    multiply_add(q, std::span(public_->b).subspan(j * n, n), small, c0);
    multiply_add(q, std::span(public_->a).subspan(j * n, n), small, c1);
  }
  return c;
}

namespace {

// Numbers known by their residues, as digits: x = d_0 + d_1 q_0 + d_2 q_0 q_1 + …
// For the first `primes` primes of a context. Source: H. L. Garner, The residue number system,
// 1959.
class MixedRadix {
 public:
  using Digits = std::array<std::uint64_t, 16>;

  MixedRadix(const Context& context, std::size_t primes);

  // residues: one for each prime.
  Digits digits(const Digits& residues) const;
  // Whether x represents x - Q, which is negative.
  bool negative(const Digits& digits) const;
  // The representative in (-Q/2, Q/2) modulo t.
  std::uint64_t centred_modulo_t(const Digits& digits) const;
  // log2 of its absolute value; of 0: 0.
  double log2_magnitude(const Digits& digits) const;
  double log2_half_modulus() const;

 private:
  const Context& context_;
  std::size_t primes_;
  std::vector<std::uint64_t> inverses_;  // [i][j]: 1 / q_j modulo q_i
  std::vector<std::uint64_t> weights_;   // q_0 … q_(i-1) modulo t, and all of them
  Digits half_{};                        // of (Q - 1) / 2
};

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

}  // namespace tabane::mine::bgv
