#include "tabane/tools/mine/bgv/evaluator.h"

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/modulus.h"

namespace tabane::mine::bgv {
namespace {

// Division of a polynomial by one of the primes q, rounded so that the plaintext stays: added is
// the least delta that is -values modulo q and 0 modulo t. Replaces the values modulo q by delta's
// coefficients over t, for divide().
void prepare_division(const Context& context, std::size_t dropped, Residues values) {
  const Modulus& q = context.modulus(dropped);
  context.ntt(dropped).inverse(values);
  const std::uint64_t t = q.reduce(context.plaintext_modulus().value());
  scale(q, values, q.negate(q.inverse(t)), values);
}

// out = (values + delta) / q modulo modulus j; scratch: N words.
void divide(const Context& context, std::size_t dropped, std::size_t j, ConstResidues prepared,
            ConstResidues values, Residues scratch, Residues out) {
  const Modulus &q = context.modulus(dropped), &to = context.modulus(j);
  lift_centred(q, prepared, to, scratch);
  scale(to, scratch, to.reduce(context.plaintext_modulus().value()), scratch);
  context.ntt(j).forward(scratch);
  add(to, values, scratch, scratch);
  scale(to, scratch, to.inverse(to.reduce(q.value())), out);
}

// Adds to c0 and c1 of `sum` an encryption of component times the key's secret, and the noise that
// this brings. component: values, [prime][N] for the primes of `sum`. cost: primes x (primes + 2)
// transforms.
void switch_key(const Context& context, const KeySwitchKey& key,
                std::span<const std::uint64_t> component, Ciphertext& sum) {
  const std::size_t n = context.degree(), primes = sum.primes(), moduli = context.moduli();
  // Over the digits, modulo the primes in use and the special one, [component][place][N].
  Words sums(2 * (primes + 1) * n, 0), digit(n), lifted(n);
  const auto at = [&](std::size_t c, std::size_t place) {
    return std::span(sums).subspan((c * (primes + 1) + place) * n, n);
  };
  for (std::size_t i = 0; i < primes; ++i) {
    const ConstResidues values = component.subspan(i * n, n);
    std::ranges::copy(values, digit.begin());
    context.ntt(i).inverse(digit);
    for (std::size_t place = 0; place <= primes; ++place) {
      const std::size_t j = place < primes ? place : context.special();
      if (j != i) {
        lift_centred(context.modulus(i), digit, context.modulus(j), lifted);
        context.ntt(j).forward(lifted);
      }
      const ConstResidues factor = j == i ? values : ConstResidues(lifted);
      const std::size_t begin = (i * moduli + j) * n;
      multiply_add(context.modulus(j), factor, std::span(key.b).subspan(begin, n), at(0, place));
      multiply_add(context.modulus(j), factor, std::span(key.a).subspan(begin, n), at(1, place));
    }
  }
  for (std::size_t c = 0; c < 2; ++c) {
    prepare_division(context, context.special(), at(c, primes));
    for (std::size_t j = 0; j < primes; ++j) {
      divide(context, context.special(), j, at(c, primes), at(c, j), lifted, at(c, j));
      add(context.modulus(j), sum.residues(c, j), at(c, j), sum.residues(c, j));
    }
  }
  const Parameters& parameters = context.parameters();
  sum.deviation = context.noise().sum(
      sum.deviation,
      context.noise().key_switch({parameters.primes().data(), primes}, parameters.special_prime()));
}

void check_same(const CiphertextView& a, const CiphertextView& b) {
  TABANE_ASSERT(a.primes == b.primes && a.degree == b.degree);
  if (a.key != b.key) {
    throw core::UsageError("ciphertexts that were made with different keys do not fit together");
  }
}

void copy_component(const CiphertextView& from, std::size_t component, Ciphertext& to,
                    std::size_t to_component) {
  const std::size_t words = from.primes * from.degree;
  std::copy_n(from.words + component * words, words, to.words().data() + to_component * words);
}

Ciphertext copy_of(const CiphertextView& a, std::size_t components) {
  Ciphertext copy(a.degree, components, a.primes);
  for (std::size_t c = 0; c < components; ++c) copy_component(a, c, copy, c);
  copy.deviation = a.deviation;
  copy.key = a.key;
  return copy;
}

}  // namespace

Evaluator::Evaluator(SharedContext context, const EvaluationKeys* keys)
    : context_(std::move(context)), keys_(keys) {}

void Evaluator::check_keys(const CiphertextView& a) const {
  if (keys_ == nullptr) throw core::UsageError("this takes evaluation keys, and there are none");
  if (keys_->id != a.key) {
    throw core::UsageError("the evaluation keys and the ciphertext are of different key pairs");
  }
}

Ciphertext Evaluator::add(const CiphertextView& a, const CiphertextView& b) const {
  const bool a_longer = a.components >= b.components;
  Ciphertext sum = copy_of(a_longer ? a : b, std::max(a.components, b.components));
  add_in_place(sum, a_longer ? b : a);
  return sum;
}

void Evaluator::add_in_place(Ciphertext& sum, const CiphertextView& a) const {
  check_same(sum, a);
  TABANE_ASSERT(a.components <= sum.components());
  for (std::size_t c = 0; c < a.components; ++c) {
    for (std::size_t j = 0; j < a.primes; ++j) {
      bgv::add(context_->modulus(j), sum.residues(c, j), a.residues(c, j), sum.residues(c, j));
    }
  }
  sum.deviation = context_->noise().sum(sum.deviation, a.deviation);
  sum.seed.reset();
}

Ciphertext Evaluator::multiply(const CiphertextView& a, const CiphertextView& b) const {
  check_same(a, b);
  TABANE_ASSERT(a.components == 2 && b.components == 2);
  Ciphertext product(a.degree, 3, a.primes);
  for (std::size_t j = 0; j < a.primes; ++j) {
    const Modulus& q = context_->modulus(j);
    bgv::multiply(q, a.residues(0, j), b.residues(0, j), product.residues(0, j));
    bgv::multiply(q, a.residues(0, j), b.residues(1, j), product.residues(1, j));
    bgv::multiply_add(q, a.residues(1, j), b.residues(0, j), product.residues(1, j));
    bgv::multiply(q, a.residues(1, j), b.residues(1, j), product.residues(2, j));
  }
  product.deviation = context_->noise().product(a.deviation, b.deviation);
  product.key = a.key;
  return product;
}

Ciphertext Evaluator::relinearise(const CiphertextView& a) const {
  TABANE_ASSERT(a.components == 3);
  check_keys(a);
  if (!keys_->relinearisation) throw core::UsageError("there is no relinearisation key");
  Ciphertext result = copy_of(a, 2);
  switch_key(*context_, *keys_->relinearisation,
             {a.words + 2 * a.primes * a.degree, a.primes * a.degree}, result);
  return result;
}

Ciphertext Evaluator::switch_modulus(const CiphertextView& a) const {
  if (a.primes < 2) {
    throw core::UsageError("no further level: one prime of the ciphertext modulus is left");
  }
  const std::size_t dropped = a.primes - 1;
  Ciphertext result(a.degree, a.components, dropped);
  Words last(a.degree), scratch(a.degree);
  for (std::size_t c = 0; c < a.components; ++c) {
    std::ranges::copy(a.residues(c, dropped), last.begin());
    prepare_division(*context_, dropped, last);
    for (std::size_t j = 0; j < dropped; ++j) {
      divide(*context_, dropped, j, last, a.residues(c, j), scratch, result.residues(c, j));
    }
  }
  result.deviation = context_->noise().switched(
      a.deviation, std::log2(static_cast<double>(context_->modulus(dropped).value())),
      static_cast<int>(a.components));
  result.key = a.key;
  return result;
}

Ciphertext Evaluator::switch_modulus_to(const CiphertextView& a, std::size_t primes) const {
  TABANE_ASSERT(primes >= 1 && primes <= a.primes);
  Ciphertext result = copy_of(a, a.components);
  while (result.primes() > primes) result = switch_modulus(result);
  return result;
}

Ciphertext Evaluator::automorphism(const CiphertextView& a, std::uint64_t exponent) const {
  TABANE_ASSERT(a.components == 2);
  check_keys(a);
  const auto key = keys_->rotations.find(exponent);
  if (key == keys_->rotations.end()) {
    throw core::UsageError("there is no rotation key for X -> X^{}", exponent);
  }
  Ciphertext result(a.degree, 2, a.primes);
  Words turned(a.primes * a.degree);
  const Automorphism turn(a.degree, exponent);
  for (std::size_t j = 0; j < a.primes; ++j) {
    turn.apply(a.residues(0, j), result.residues(0, j));
    turn.apply(a.residues(1, j), std::span(turned).subspan(j * a.degree, a.degree));
    std::ranges::fill(result.residues(1, j), 0);
  }
  result.deviation = a.deviation;
  result.key = a.key;
  switch_key(*context_, key->second, turned, result);
  return result;
}

Ciphertext Evaluator::rotate(const CiphertextView& a, std::size_t steps) const {
  Ciphertext result = copy_of(a, a.components);
  steps %= a.degree / 2;
  for (std::size_t step = 1; step <= steps; step *= 2) {
    if (steps & step) result = automorphism(result, rotation_exponent(a.degree, step));
  }
  return result;
}

Ciphertext Evaluator::exchange_rows(const CiphertextView& a) const {
  return automorphism(a, exchange_exponent(a.degree));
}

Ciphertext Evaluator::sum_slots(const CiphertextView& a) const {
  Ciphertext sum = add(a, exchange_rows(a));
  for (std::size_t step = 1; step < a.degree / 2; step *= 2) {
    sum = add(sum, rotate(sum, step));
  }
  return sum;
}

}  // namespace tabane::mine::bgv
