// Encryption, under the secret key or under the public one.
#pragma once

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/keys.h"

namespace tabane::mine::bgv {

// Safe in threads: each call draws its own randomness. Keeps a reference to the key.
class Encryptor {
 public:
  // c = (m + t e - a s, a): less noise, half the work, and half the file, as `a` is a seed's.
  explicit Encryptor(const SecretKey& key);
  // c = (m + b u + t e0, a u + t e1).
  // throws: core::UsageError if the key does not have the parameters' size.
  Encryptor(SharedContext context, const PublicKey& key);
  Encryptor(SharedContext context, PublicKey&& key) = delete;

  // With all primes.
  Ciphertext encrypt(const Plaintext& plaintext) const;
  // The same seed never for two plaintexts: their difference would be in the open.
  Ciphertext encrypt(const Plaintext& plaintext, const Seed& randomness) const;

 private:
  Ciphertext with_secret_key(const Plaintext& plaintext, RandomStream& random) const;
  Ciphertext with_public_key(const Plaintext& plaintext, RandomStream& random) const;

  SharedContext context_;
  const SecretKey* secret_ = nullptr;
  const PublicKey* public_ = nullptr;
};

}  // namespace tabane::mine::bgv
