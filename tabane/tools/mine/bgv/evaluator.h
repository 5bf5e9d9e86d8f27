// Computing on ciphertexts, with public material only.
#pragma once

#include <cstdint>

#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/bgv/parameters.h"

namespace tabane::mine::bgv {

// Safe in threads. Operands have the same number of primes and the same key; each result carries
// the estimate of its noise. Each operation returns a new ciphertext; those that end in _in_place
// change theirs.
class Evaluator {
 public:
  // keys: null if nothing is relinearised or rotated; must outlive this.
  explicit Evaluator(SharedContext context, const EvaluationKeys* keys = nullptr);

  // Returns as many components, two or three, as the operand with more.
  Ciphertext add(const CiphertextView& a, const CiphertextView& b) const;
  // sum += a; a: at most as many components.
  void add_in_place(Ciphertext& sum, const CiphertextView& a) const;

  // Operands have two components; the product has three.
  Ciphertext multiply(const CiphertextView& a, const CiphertextView& b) const;

  // Turns three components into two. throws: core::UsageError if there is no key for it, or only
  // that of another pair.
  Ciphertext relinearise(const CiphertextView& a) const;

  // Divides by the last prime, and the noise with it.
  // throws: core::UsageError if one prime is left.
  Ciphertext switch_modulus(const CiphertextView& a) const;
  // Does so until `primes` are left.
  Ciphertext switch_modulus_to(const CiphertextView& a, std::size_t primes) const;

  // Rotate both rows of slots to the left, and exchange the rows. throw: as relinearise().
  Ciphertext rotate(const CiphertextView& a, std::size_t steps) const;
  Ciphertext exchange_rows(const CiphertextView& a) const;
  // Puts the sum of all slots into every slot. cost: log2 N key switches. throws: as relinearise().
  Ciphertext sum_slots(const CiphertextView& a) const;

 private:
  Ciphertext automorphism(const CiphertextView& a, std::uint64_t exponent) const;
  void check_keys(const CiphertextView& a) const;

  SharedContext context_;
  const EvaluationKeys* keys_;
};

}  // namespace tabane::mine::bgv
