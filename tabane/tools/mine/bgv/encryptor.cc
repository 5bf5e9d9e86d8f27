#include "tabane/tools/mine/bgv/encryptor.h"

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/polynomial.h"
#include "tabane/tools/mine/bgv/wiped.h"

namespace tabane::mine::bgv {
namespace {

// Small random polynomials, wiped when they go.
struct Small {
  explicit Small(std::size_t n) : values(n), end(values) {}
  std::vector<std::int8_t> values;
  WipedAtEnd end;
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

Ciphertext Encryptor::encrypt(const Plaintext& plaintext) const {
  Seed randomness = fresh_seed();
  const WipedAtEnd end(randomness);
  return encrypt(plaintext, randomness);
}

Ciphertext Encryptor::encrypt(const Plaintext& plaintext, const Seed& randomness) const {
  TABANE_ASSERT(plaintext.coefficients.size() == context_->degree());
  RandomStream random(randomness);
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
  const WipedAtEnd end(product);
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
  const WipedAtEnd end(small);
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

}  // namespace tabane::mine::bgv
