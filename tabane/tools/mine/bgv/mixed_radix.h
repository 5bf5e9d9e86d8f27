// Numbers known by their residues, as digits: x = d_0 + d_1 q_0 + d_2 q_0 q_1 + … Not installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tabane/tools/mine/bgv/context.h"

namespace tabane::mine::bgv {

// For the first `primes` primes of a context. Source: H. L. Garner, The residue number system,
// 1959.
class MixedRadix {
 public:
  using Digits = std::array<std::uint64_t, 16>;

  MixedRadix(const Context& context, std::size_t primes);

  // residues: one for each prime.
  Digits digits(const Digits& residues) const;
  // Whether x stands for x - Q, which is negative.
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

}  // namespace tabane::mine::bgv
