// What all operations with one set of parameters share: tables, made once, never changed.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tabane/tools/mine/bgv/modulus.h"
#include "tabane/tools/mine/bgv/noise.h"
#include "tabane/tools/mine/bgv/ntt.h"
#include "tabane/tools/mine/bgv/parameters.h"

namespace tabane::mine::bgv {

// Safe in threads and after a fork. cost: about a millisecond and 4 N words a prime.
class Context {
 public:
  explicit Context(Parameters parameters);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Parameters& parameters() const { return parameters_; }
  std::size_t degree() const { return parameters_.degree(); }
  // The primes of the ciphertext modulus, then the special one, if there is one.
  std::size_t primes() const { return parameters_.primes().size(); }
  std::size_t moduli() const { return ntts_.size(); }
  std::size_t special() const { return primes(); }  // its place
  const Modulus& modulus(std::size_t i) const { return ntts_[i].modulus(); }
  const Ntt& ntt(std::size_t i) const { return ntts_[i]; }
  const Modulus& plaintext_modulus() const { return plaintext_ntt_.modulus(); }
  const Ntt& plaintext_ntt() const { return plaintext_ntt_; }
  const NoiseModel& noise() const { return noise_; }

 private:
  Parameters parameters_;
  std::vector<Ntt> ntts_;
  Ntt plaintext_ntt_;
  NoiseModel noise_;
};

using SharedContext = std::shared_ptr<const Context>;

inline SharedContext make_context(Parameters parameters) {
  return std::make_shared<const Context>(std::move(parameters));
}

}  // namespace tabane::mine::bgv
