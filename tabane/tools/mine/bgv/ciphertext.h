// Messages, encrypted or not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tabane/tools/mine/bgv/words.h"

namespace tabane::mine::bgv {

// Random, tells key pairs apart: what was made with one fits only its own.
using KeyId = std::array<std::uint8_t, 16>;

// What a stream of random bytes is made from.
using Seed = std::array<std::uint8_t, 32>;

// Coefficients modulo t of a polynomial of degree below N.
struct Plaintext {
  Words coefficients;
};

// Components c0, c1 and, after a multiplication, c2, each as values (ntt.h) modulo some of the
// primes; does not own them. words: [component][prime][N].
struct CiphertextView {
  const std::uint64_t* words = nullptr;
  std::size_t degree = 0, components = 0, primes = 0;
  double deviation = 0;  // noise.h
  KeyId key{};

  std::span<const std::uint64_t> residues(std::size_t component, std::size_t prime) const {
    return {words + (component * primes + prime) * degree, degree};
  }
};

class Ciphertext {
 public:
  Ciphertext() = default;
  // The words have no values yet.
  Ciphertext(std::size_t degree, std::size_t components, std::size_t primes)
      : degree_(degree),
        components_(components),
        primes_(primes),
        words_(size_of(degree, components, primes)) {}

  std::size_t degree() const { return degree_; }
  std::size_t components() const { return components_; }
  std::size_t primes() const { return primes_; }
  std::span<std::uint64_t> words() { return words_; }
  std::span<const std::uint64_t> words() const { return words_; }
  std::span<std::uint64_t> residues(std::size_t component, std::size_t prime) {
    return std::span(words_).subspan((component * primes_ + prime) * degree_, degree_);
  }
  std::span<const std::uint64_t> residues(std::size_t component, std::size_t prime) const {
    return std::span(words_).subspan((component * primes_ + prime) * degree_, degree_);
  }

  operator CiphertextView() const {
    return {words_.data(), degree_, components_, primes_, deviation, key};
  }

  static std::size_t size_of(std::size_t degree, std::size_t components, std::size_t primes) {
    return degree * components * primes;
  }

  double deviation = 0;
  KeyId key{};
  // c1 is what this seed expands to, so that a file need not hold it; only of fresh ciphertexts
  // under the secret key.
  std::optional<Seed> seed;

 private:
  std::size_t degree_ = 0, components_ = 0, primes_ = 0;
  Words words_;
};

}  // namespace tabane::mine::bgv
