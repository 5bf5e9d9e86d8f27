#include "tabane/tools/mine/bgv/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/key_switch.h"
#include "tabane/tools/mine/bgv/polynomial.h"

namespace tabane::mine::bgv {
namespace {

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
  Ciphertext product;
  multiply_to(a, b, product);
  return product;
}

void Evaluator::multiply_to(const CiphertextView& a, const CiphertextView& b,
                            Ciphertext& product) const {
  check_same(a, b);
  TABANE_ASSERT(a.components == 2 && b.components == 2);
  if (product.components() != 3 || product.primes() != a.primes || product.degree() != a.degree) {
    product = Ciphertext(a.degree, 3, a.primes);
  }
  for (std::size_t j = 0; j < a.primes; ++j) {
    const Modulus& q = context_->modulus(j);
    bgv::multiply(q, a.residues(0, j), b.residues(0, j), product.residues(0, j));
    bgv::multiply(q, a.residues(0, j), b.residues(1, j), product.residues(1, j));
    bgv::multiply_add(q, a.residues(1, j), b.residues(0, j), product.residues(1, j));
    bgv::multiply(q, a.residues(1, j), b.residues(1, j), product.residues(2, j));
  }
  product.deviation = context_->noise().product(a.deviation, b.deviation);
  product.key = a.key;
  product.seed.reset();
}

Ciphertext Evaluator::relinearise(const CiphertextView& a) const {
  TABANE_ASSERT(a.components == 3);
  check_keys(a);
  if (!keys_->relinearisation) throw core::UsageError("there is no relinearisation key");
  Ciphertext result = copy_of(a, 2);
  switch_key(*context_, *keys_->relinearisation,
             {a.words + 2 * a.primes * a.degree, a.primes * a.degree}, result);
  const auto& parameters = context_->parameters();
  result.deviation = context_->noise().sum(
      a.deviation, context_->noise().key_switch({parameters.primes().data(), a.primes},
                                                parameters.special_prime()));
  return result;
}

Ciphertext Evaluator::switch_modulus(const CiphertextView& a) const {
  if (a.primes < 2) {
    throw core::UsageError("no further level: one prime of the ciphertext modulus is left");
  }
  const std::size_t dropped = a.primes - 1;
  Ciphertext result(a.degree, a.components, dropped);
  const ModulusDrop drop(*context_, dropped);
  Words last(a.degree), scratch(a.degree);
  for (std::size_t c = 0; c < a.components; ++c) {
    std::ranges::copy(a.residues(c, dropped), last.begin());
    drop.prepare(last);
    for (std::size_t j = 0; j < dropped; ++j) {
      drop.divide(j, last, a.residues(c, j), scratch, result.residues(c, j));
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
    throw core::UsageError(fmt::format("there is no rotation key for X -> X^{}", exponent));
  }
  Ciphertext result(a.degree, 2, a.primes);
  Words turned(a.primes * a.degree);
  const Automorphism turn(a.degree, exponent);
  for (std::size_t j = 0; j < a.primes; ++j) {
    turn.apply(a.residues(0, j), result.residues(0, j));
    turn.apply(a.residues(1, j), std::span(turned).subspan(j * a.degree, a.degree));
    std::ranges::fill(result.residues(1, j), 0);
  }
  switch_key(*context_, key->second, turned, result);
  const auto& parameters = context_->parameters();
  result.deviation = context_->noise().sum(
      a.deviation, context_->noise().key_switch({parameters.primes().data(), a.primes},
                                                parameters.special_prime()));
  result.key = a.key;
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
