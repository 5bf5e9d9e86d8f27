// Messages to ciphertexts and back: vectors of numbers as plaintexts, encryption and decryption.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/bgv/parameters.h"

namespace tabane::mine::bgv {

// Makes plaintexts of vectors of N numbers modulo t; sums and products of plaintexts are those of
// the vectors. The slots are two rows of N / 2: slot i of the first is the value at psi^(3^i), of
// the second that at psi^-(3^i), where psi has order 2 N modulo t. Source: Smart and Vercauteren,
// ia.cr/2011/133.
class Encoder {
 public:
  explicit Encoder(SharedContext context);

  std::size_t slots() const { return context_->degree(); }
  // slots: at most N, each below t; missing ones are 0. throws: core::UsageError.
  Plaintext encode(std::span<const std::uint64_t> slots) const;
  std::vector<std::uint64_t> decode(const Plaintext& plaintext) const;
  // Returns the sum of the slots, not reduced. cost: as decode().
  std::uint64_t sum(const Plaintext& plaintext) const;

 private:
  SharedContext context_;
  std::vector<std::uint32_t> positions_;  // in the transform's order, by slot
};

// The functions below are safe in threads.

// Returns (m + t e - a s, a) with all primes; `a` is a seed's, so that a file need not hold it.
// random: never one of the same seed for two plaintexts, whose difference would be in the open.
Ciphertext encrypt(const SecretKey& key, const Plaintext& plaintext,
                   RandomStream random = RandomStream::fresh());

// Decrypts any number of primes, two components or three. throws: core::UsageError if it was made
// with another key; core::Error if its estimate says that the noise is too large.
Plaintext decrypt(const SecretKey& key, const CiphertextView& ciphertext);

// Returns c0 + c1 s + c2 s^2 as coefficients, [prime][N]. throws: core::UsageError as decrypt().
Words phase_of(const SecretKey& key, const CiphertextView& ciphertext);

}  // namespace tabane::mine::bgv
