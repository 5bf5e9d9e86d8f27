#include "tabane/workloads/fhe_mining/bgv/pointwise.h"

namespace tabane::workloads::fhe_mining::bgv {

void add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  add_reference(modulus, a, b, out);
}
void subtract(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  subtract_reference(modulus, a, b, out);
}
void multiply(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  multiply_reference(modulus, a, b, out);
}
void multiply_add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  multiply_add_reference(modulus, a, b, out);
}
void scale(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out) {
  scale_reference(modulus, a, factor, out);
}

}  // namespace tabane::workloads::fhe_mining::bgv
