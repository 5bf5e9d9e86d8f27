// The negacyclic number-theoretic transform: values of a polynomial modulo X^N + 1 at the N roots
// of X^N + 1, where products are products of values.
//
// The fast path computes in doubles with fused multiply-adds: x w - round(x w / p) p is exact as
// long as the quotient is below 2^51, since the product's rounding error is itself a double. So it
// needs no 64-bit multiplication, which vectors lack, and serves AVX2, AVX-512 and Arm alike.
// Residues stay signed and unreduced over several butterflies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tabane/tools/mine/bgv/modulus.h"

namespace tabane::mine::bgv {

using Doubles = std::vector<double, LineAllocator<double>>;

// Powers of a root as centred residues, in the order in which the vectors read them.
struct NttTable {
  Doubles roots;  // psi^brv(i), for the levels of groups = 1, 2, 4, … at groups
  Doubles last;   // for each block of 16 values 8 of its halves 4, 2 and 1, lane by lane
  double inverse_degree = 0, last_root = 0;  // 1 / N, roots[1] / N; for the inverse only
};

// Immutable after construction. Memory: 9 N words.
class Ntt {
 public:
  // degree: a power of two from 32 on; modulus: a prime = 1 modulo 2 degree.
  Ntt(std::size_t degree, const Modulus& modulus);

  std::size_t degree() const { return degree_; }
  const Modulus& modulus() const { return modulus_; }
  std::uint64_t root() const { return root_; }  // psi, of order 2 N

  // Replace coefficients by values and back. values: N residues in [0, p), before and after; any
  // alignment.
  // cost: N/2 log2 N butterflies of 8 vector operations.
  void forward(std::span<std::uint64_t> values) const;
  void inverse(std::span<std::uint64_t> values) const;

  // The same without vectors.
  void forward_reference(std::span<std::uint64_t> values) const;
  void inverse_reference(std::span<std::uint64_t> values) const;

  const NttTable& forward_table() const { return forward_; }
  const NttTable& inverse_table() const { return inverse_; }

 private:
  NttTable table_of(const Words& roots) const;

  std::size_t degree_;
  Modulus modulus_;
  std::uint64_t root_, inverse_degree_;
  Words roots_, inverse_roots_;  // psi^brv(i), psi^-brv(i)
  NttTable forward_, inverse_;
};

// Returns the position of the value at psi^exponent; exponent: odd, below 2 N. The order is that of
// the bit-reversed transform, but of each 16 values the even ones come first, as vectors of 2, 4
// and 8 lanes leave them without moving any back.
std::size_t position_of(std::size_t degree, std::uint64_t exponent);
// Returns the exponent at a position.
std::uint64_t exponent_at(std::size_t degree, std::size_t position);

// X -> X^g for polynomials that are given by their values: out[position of e] = values[position of
// e g].
class Automorphism {
 public:
  // exponent: g, odd, below 2 degree.
  Automorphism(std::size_t degree, std::uint64_t exponent);

  void apply(ConstResidues values, Residues out) const;

 private:
  std::vector<std::uint32_t> from_;
};

}  // namespace tabane::mine::bgv
