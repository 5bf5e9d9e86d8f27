#include "tabane/tools/mine/bgv/context.h"

namespace tabane::mine::bgv {

Context::Context(Parameters parameters)
    : parameters_(std::move(parameters)),
      plaintext_ntt_(parameters_.degree(), Modulus(parameters_.plaintext_modulus())),
      noise_(parameters_.degree(), parameters_.plaintext_modulus()) {
  for (const std::uint64_t q : parameters_.primes()) ntts_.emplace_back(degree(), Modulus(q));
  if (parameters_.has_special_prime()) {
    ntts_.emplace_back(degree(), Modulus(parameters_.special_prime()));
  }
}

}  // namespace tabane::mine::bgv
