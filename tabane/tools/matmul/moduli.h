// A residue number system: primes, and what numbers are multiplied by on their way into it and out
// of it.
//
// An integer x = sum_j d_j 2^(24 j) has the residues sum_j d_j (2^(24 j) mod p), a product of the
// matrix of its digits and one of constants. Back: with M the product of all primes,
// w_p = (x (M/p)^-1) mod p and the digits of M/p,
//   x = sum_p w_p (M/p) - q M,   q = round(sum_p w_p / p)  if |x| <= M / 4,
// again a product of matrices, of the w_p and the digits of the M/p. The factor (M/p)^-1 mod p
// is in the constants of b, so that the residues of a product come out as its w_p.
//
// All residues are symmetric, between -p/2 and p/2, so that products are exact in doubles:
// kDigitBits, the primes and the digits of M/p are chosen so that no sum reaches 2^53.
#pragma once

#include <cstdint>
#include <vector>

namespace tabane::matmul {

inline constexpr int kDigitBits = 24;
inline constexpr int kMostDigitsAtOnce = 64;   // of a number, in one product with the constants
inline constexpr int kMostTermsAtOnce = 2048;  // in one product of residues

// Terms in one product where there are `terms` in all.
int terms_at_once(int terms);
inline std::int64_t digits_of_width(std::int64_t width) {
  return (width + kDigitBits - 1) / kDigitBits;
}
// The bound of all primes for integers of such widths, in bits.
std::uint32_t largest_prime(int terms, std::int64_t width);

struct Moduli {
  std::vector<double> primes, inverses;  // 1 / p
  // By prime, [p * digits + j]: 2^(24 j) mod p, and that times (M/p)^-1 mod p.
  int a_digits = 0, b_digits = 0;
  std::vector<double> into_a, into_b;
  // By prime, [p * out_digits + j]: balanced digits of M/p, of out_bits bits; the last one is not a
  // digit but 1 / p. And the digits of M.
  int out_bits = 0, out_digits = 0;
  std::vector<double> out_of, whole;

  int count() const { return static_cast<int>(primes.size()); }
  int digits_of_result() const { return out_digits - 1; }
};

// How many primes hold sums of `terms` products of integers of a_width and b_width bits, times
// `factor`; approximately.
double primes_needed(int terms, std::int64_t a_width, std::int64_t b_width);

// Makes those for |x| < factor terms 2^(a_width + b_width).
// throws: core::UsageError if there are not enough primes.
Moduli make_moduli(int terms, int factor, std::int64_t a_width, std::int64_t b_width);

}  // namespace tabane::matmul
