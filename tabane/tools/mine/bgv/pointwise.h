// Residues of whole polynomials, value by value, with run-time dispatch, and their plain
// references. All spans have the same length, values are below the modulus, and out may be an
// operand.
#pragma once

#include <cstdint>
#include <span>

#include "tabane/tools/mine/bgv/modulus.h"

namespace tabane::mine::bgv {

using Residues = std::span<std::uint64_t>;
using ConstResidues = std::span<const std::uint64_t>;

// out = a + b
void add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out = a - b
void subtract(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out = a b
void multiply(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out += a b
void multiply_add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out = a factor; factor below the modulus
void scale(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out);
// out = the residues modulo `to` of the representatives in (-from/2, from/2)
void lift_centred(const Modulus& from, ConstResidues a, const Modulus& to, Residues out);

void add_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
void subtract_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
void multiply_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
void multiply_add_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
void scale_reference(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out);
void lift_centred_reference(const Modulus& from, ConstResidues a, const Modulus& to, Residues out);

}  // namespace tabane::mine::bgv
