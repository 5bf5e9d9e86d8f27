// AES block by block in plain words, and what a coprocessor needs of a key: its round keys, and for
// GCM powers and multiples of its hash key. Slow, and its time depends on the key: for a few
// blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tabane::crypto {

// Four bytes of a column, the first the lowest.
using Words = std::array<std::uint32_t, 4>;

inline constexpr std::size_t kMostRounds = 14;

// Wiped when they go.
struct RoundKeys {
  ~RoundKeys();

  std::array<Words, kMostRounds + 1> words{};  // of the start and of each round
  std::size_t rounds = 0;                      // 10 or 14
};

// The table of MixColumns of SubBytes of a byte in row 0; row r has its words rotated left by 8 r
// bits.
const std::array<std::uint32_t, 256>& mixed_table();

// key: 16 or 32 bytes.
RoundKeys expand_key(std::span<const std::byte> key);

Words encrypt_block(const RoundKeys& keys, Words block);

// A polynomial over GF(2) modulo that of GCM: the coefficient of degree 0 is the highest bit of
// `high`.
struct Polynomial {
  std::uint64_t high = 0, low = 0;

  friend bool operator==(const Polynomial&, const Polynomial&) = default;
  friend Polynomial operator+(const Polynomial& a, const Polynomial& b) {
    return {a.high ^ b.high, a.low ^ b.low};
  }
};
Polynomial operator*(Polynomial a, Polynomial b);

// What GCM hashes with: the encrypted block of zeros.
Polynomial hash_key(const RoundKeys& keys);

// base times the 16 polynomials of degree below 4, by their coefficients: that of degree 0 is the
// highest of the four bits.
std::array<Polynomial, 16> multiples_of(Polynomial base);

}  // namespace tabane::crypto
