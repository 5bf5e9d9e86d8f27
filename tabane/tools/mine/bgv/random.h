// Random numbers for cryptography: streams of AES-256 in counter mode under seeds of the operating
// system, and what is drawn from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/modulus.h"

namespace tabane::mine::bgv {

// From OpenSSL's generator, which is safe in threads and after a fork. throw: core::Error.
Seed fresh_seed();
KeyId fresh_key_id();

// Its bytes depend on the seed alone. Wiped when it goes. One thread at a time.
class RandomStream {
 public:
  explicit RandomStream(const Seed& seed);  // throws: core::Error
  ~RandomStream();
  RandomStream(RandomStream&&) noexcept;
  RandomStream& operator=(RandomStream&&) noexcept;

  void fill(std::span<std::uint8_t> bytes);
  Seed seed();  // of another stream

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Uniform in [0, modulus): words of the stream, little-endian, cut to the modulus's bits, without
// those that are too large. Files depend on it: format version 1.
void draw_uniform(RandomStream& random, const Modulus& modulus, std::span<std::uint64_t> values);

// Uniform in {-1, 0, 1}.
void draw_ternary(RandomStream& random, std::span<std::int8_t> values);

// Differences of the numbers of ones in 21 and 21 bits: variance 10.5, deviation 3.24.
void draw_errors(RandomStream& random, std::span<std::int8_t> values);

}  // namespace tabane::mine::bgv
