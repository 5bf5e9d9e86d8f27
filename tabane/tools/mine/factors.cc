#include "tabane/tools/mine/factors.h"

#include "tabane/tools/mine/scheme.h"

namespace tabane::mine {

std::size_t primes_of_factors(std::size_t length, std::size_t primes) {
  return length < 2 ? primes : primes - static_cast<std::size_t>(depth_of(length) - 1);
}

bgv::CiphertextView Factors::product(std::span<const Item> items, std::size_t primes) {
  const bgv::CiphertextView fresh = database_.at(items[0], block_);
  if (items.size() == 1 && primes == fresh.primes) return fresh;
  std::pair<std::vector<Item>, std::size_t> name({items.begin(), items.end()}, primes);
  const auto found = products_.find(name);
  if (found != products_.end()) return found->second;
  bgv::Ciphertext made = computed(items, primes);
  return products_.emplace(std::move(name), std::move(made)).first->second;
}

bgv::Ciphertext Factors::computed(std::span<const Item> items, std::size_t primes) {
  if (items.size() == 1) {
    return evaluator_.switch_modulus_to(database_.at(items[0], block_), primes);
  }
  const std::size_t own = primes_of_factors(items.size(), database_.context()->primes());
  if (primes + 1 < own) return evaluator_.switch_modulus_to(product(items, own - 1), primes);
  const bgv::CiphertextView first = product(first_factor(items), own);
  const bgv::CiphertextView other = product(other_factor(items), own);
  ++work_.products;
  ++work_.key_switches;
  return evaluator_.switch_modulus(evaluator_.relinearise(evaluator_.multiply(first, other)));
}

}  // namespace tabane::mine
