#include <cstddef>

#include "tabane/tools/mine/bgv/pointwise.h"

namespace tabane::mine::bgv {

void add_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.add(a[i], b[i]);
}
void subtract_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.subtract(a[i], b[i]);
}
void multiply_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.multiply(a[i], b[i]);
}
void multiply_add_reference(const Modulus& modulus, ConstResidues a, ConstResidues b,
                            Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = modulus.add(out[i], modulus.multiply(a[i], b[i]));
  }
}
void scale_reference(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.multiply(a[i], factor);
}

void lift_centred_reference(const Modulus& from, ConstResidues a, const Modulus& to, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = to.reduce_signed(from.centred(a[i]));
}

}  // namespace tabane::mine::bgv
