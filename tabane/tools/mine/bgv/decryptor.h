// Decryption, and how much noise there really is.
#pragma once

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/keys.h"

namespace tabane::mine::bgv {

// Safe in threads. Keeps a reference to the key.
class Decryptor {
 public:
  explicit Decryptor(const SecretKey& key);

  // Any number of primes, two components or three.
  // throws: core::UsageError if it was made with another key; core::Error if its estimate says that
  // the noise is too large.
  Plaintext decrypt(const CiphertextView& ciphertext) const;

  // log2 of the largest coefficient of the phase, exact up to rounding. throws: as decrypt().
  double noise_bits(const CiphertextView& ciphertext) const;
  // The bits that the phase may still grow by: log2 of half of the modulus over it.
  double budget_bits(const CiphertextView& ciphertext) const;

 private:
  Words phase(const CiphertextView& ciphertext) const;

  const SecretKey& key_;
};

}  // namespace tabane::mine::bgv
