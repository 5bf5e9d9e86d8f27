// Steps that keys, encryption and evaluation share. Not installed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/mine/bgv/context.h"
#include "tabane/tools/mine/bgv/pointwise.h"

namespace tabane::mine::bgv {

// out = small factor modulo the modulus, as coefficients.
void lift(const Modulus& modulus, std::span<const std::int8_t> small, std::uint64_t factor,
          Residues out);

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

// Divides a polynomial by one of the primes q, rounded so that the plaintext stays: adds the least
// delta that is -values modulo q and 0 modulo t.
class ModulusDrop {
 public:
  ModulusDrop(const Context& context, std::size_t dropped);

  // dropped_values: the values modulo the dropped prime, replaced by delta's coefficients over t.
  void prepare(Residues dropped_values) const;
  // out = (values + delta) / q modulo modulus j; scratch: N words. prepared: by prepare().
  void divide(std::size_t j, ConstResidues prepared, ConstResidues values, Residues scratch,
              Residues out) const;

 private:
  const Context& context_;
  std::size_t dropped_;
};

}  // namespace tabane::mine::bgv
