// What a server does with ciphertexts: public material only.
#pragma once

#include <cstdint>

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"
#include "tabane/tools/mine/bgv/keys.h"

namespace tabane::mine::bgv {

// Safe in threads. Operands have the same number of primes and the same key; each result carries
// the estimate of its noise. Each operation returns a new ciphertext; those that end in _in_place
// change theirs.
class Evaluator {
 public:
  // keys: null if nothing is relinearised or rotated; must live as long as this.
  explicit Evaluator(SharedContext context, const EvaluationKeys* keys = nullptr);

  // Two or three components, as many as the operand with more.
  Ciphertext add(const CiphertextView& a, const CiphertextView& b) const;
  // sum += a; a: at most as many components.
  void add_in_place(Ciphertext& sum, const CiphertextView& a) const;

  // Two components each; returns three.
  Ciphertext multiply(const CiphertextView& a, const CiphertextView& b) const;
  // product: any ciphertext whose memory may be reused, but none of a and b.
  void multiply_to(const CiphertextView& a, const CiphertextView& b, Ciphertext& product) const;

  // Three components to two. throws: core::UsageError if there is no key for it, or if the key is
  // another pair's.
  Ciphertext relinearise(const CiphertextView& a) const;

  // Divides by the last prime and so takes its size off the noise.
  // throws: core::UsageError if one prime is left.
  Ciphertext switch_modulus(const CiphertextView& a) const;
  // Until `primes` are left.
  Ciphertext switch_modulus_to(const CiphertextView& a, std::size_t primes) const;

  // Rotates both rows of slots to the left; exchanges the rows. throw: as relinearise().
  Ciphertext rotate(const CiphertextView& a, std::size_t steps) const;
  Ciphertext exchange_rows(const CiphertextView& a) const;
  // The sum of all slots, in every slot. cost: log2 N key switches. throws: as relinearise().
  Ciphertext sum_slots(const CiphertextView& a) const;

 private:
  Ciphertext automorphism(const CiphertextView& a, std::uint64_t exponent) const;
  void check_keys(const CiphertextView& a) const;

  SharedContext context_;
  const EvaluationKeys* keys_;
};

}  // namespace tabane::mine::bgv
