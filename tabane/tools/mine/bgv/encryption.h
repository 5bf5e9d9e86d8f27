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
  // slots: at most N, each below t; missing ones are 0. throw: core::UsageError.
  Plaintext encode(std::span<const std::uint64_t> slots) const;
  Plaintext encode(std::span<const std::uint8_t> slots) const;
  std::vector<std::uint64_t> decode(const Plaintext& plaintext) const;
  // Returns the sum of the slots, not reduced. cost: as decode().
  std::uint64_t sum(const Plaintext& plaintext) const;

 private:
  template <class T>
  Plaintext encode_slots(std::span<const T> slots) const;

  SharedContext context_;
  std::vector<std::uint32_t> positions_;  // in the transform's order, by slot
};

// Encrypts under the secret key or under the public one. Safe in threads. Keeps a reference to the
// key.
class Encryptor {
 public:
  // c = (m + t e - a s, a): less noise, half the work, and half the file, as `a` is a seed's.
  explicit Encryptor(const SecretKey& key);
  // c = (m + b u + t e0, a u + t e1).
  // throws: core::UsageError if the key does not have the parameters' size.
  Encryptor(SharedContext context, const PublicKey& key);
  Encryptor(SharedContext context, PublicKey&& key) = delete;

  // Returns a ciphertext with all primes. random: never one of the same seed for two plaintexts,
  // whose difference would be in the open.
  Ciphertext encrypt(const Plaintext& plaintext, RandomStream random = RandomStream::fresh()) const;

 private:
  Ciphertext with_secret_key(const Plaintext& plaintext, RandomStream& random) const;
  Ciphertext with_public_key(const Plaintext& plaintext, RandomStream& random) const;

  SharedContext context_;
  const SecretKey* secret_ = nullptr;
  const PublicKey* public_ = nullptr;
};

// Safe in threads. Keeps a reference to the key.
class Decryptor {
 public:
  explicit Decryptor(const SecretKey& key);

  // Decrypts any number of primes, two components or three.
  // throws: core::UsageError if it was made with another key; core::Error if its estimate says that
  // the noise is too large.
  Plaintext decrypt(const CiphertextView& ciphertext) const;

  // Returns log2 of the largest coefficient of the phase, exact up to rounding. throws: as
  // decrypt().
  double noise_bits(const CiphertextView& ciphertext) const;

 private:
  Words phase(const CiphertextView& ciphertext) const;

  const SecretKey& key_;
};

}  // namespace tabane::mine::bgv
