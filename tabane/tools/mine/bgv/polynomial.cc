#include "tabane/tools/mine/bgv/polynomial.h"

namespace tabane::mine::bgv {

void lift(const Modulus& modulus, std::span<const std::int8_t> small, std::uint64_t factor,
          Residues out) {
  const auto signed_factor = static_cast<std::int64_t>(factor);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = modulus.reduce_signed(small[i] * signed_factor);
  }
}

Automorphism::Automorphism(std::size_t degree, std::uint64_t exponent) : from_(degree) {
  std::vector<std::uint32_t> position(degree);  // of each odd exponent
  for (std::size_t i = 0; i < degree; ++i) {
    position[exponent_at(degree, i) / 2] = static_cast<std::uint32_t>(i);
  }
  for (std::size_t e = 0; e < degree; ++e) {
    from_[position[e]] = position[((2 * e + 1) * exponent & (2 * degree - 1)) / 2];
  }
}

void Automorphism::apply(ConstResidues values, Residues out) const {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[from_[i]];
}

ModulusDrop::ModulusDrop(const Context& context, std::size_t dropped)
    : context_(context), dropped_(dropped) {}

void ModulusDrop::prepare(Residues dropped_values) const {
  const Modulus& q = context_.modulus(dropped_);
  context_.ntt(dropped_).inverse(dropped_values);
  const std::uint64_t t = q.reduce(context_.plaintext_modulus().value());
  scale(q, dropped_values, q.negate(q.inverse(t)), dropped_values);
}

void ModulusDrop::divide(std::size_t j, ConstResidues prepared, ConstResidues values,
                         Residues scratch, Residues out) const {
  const Modulus &q = context_.modulus(dropped_), &to = context_.modulus(j);
  lift_centred(q, prepared, to, scratch);
  scale(to, scratch, to.reduce(context_.plaintext_modulus().value()), scratch);
  context_.ntt(j).forward(scratch);
  add(to, values, scratch, scratch);
  scale(to, scratch, to.inverse(to.reduce(q.value())), out);
}

}  // namespace tabane::mine::bgv
