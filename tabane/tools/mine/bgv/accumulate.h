// The inner loop of support counting: sums of products of ciphertexts, without a reduction.
//
// Residues are below 2^50, so products are below 2^100. A sum is kept in two words: high 2^51 +
// low. A product of doubles splits there by itself: fma(a, b, 2^103) rounds it to a multiple of
// 2^51 and holds that multiple in its last bits, and a second FMA gives what is missing, below 2^50
// in size. So a product costs two FMAs, a subtraction and two additions of integers, in any vector
// width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tabane/tools/mine/bgv/modulus.h"

namespace tabane::mine::bgv {

inline constexpr int kLowBits = 51;

// After this many products of ciphertexts the sums must be reduced: |low| may reach 2^62.
inline constexpr std::size_t kMostProducts = 1024;

// The same residues of two ciphertexts, modulo one prime: c0 and c1 of each.
struct Operands {
  const std::uint64_t *a0, *a1, *b0, *b1;
};

// The sums of a0 b0, a0 b1 + a1 b0 and a1 b1. The high words are signed, too, modulo 2^64.
struct SumWords {
  std::uint64_t* high[3];
  std::int64_t* low[3];
};

inline constexpr std::size_t kAtOnce = 8;  // elements

// Adds the products, elements first to last - 1, both multiples of kAtOnce. At most kMostProducts
// may be added between reductions. cost: 20 vector operations, 10 loads and 6 stores.
void accumulate(const Operands& operands, std::size_t first, std::size_t last,
                const SumWords& sums);
void accumulate_reference(const Operands& operands, std::size_t first, std::size_t last,
                          const SumWords& sums);

// Residues that many products share, as doubles: of 8 at a time c0, c1 and c0 + c1, each as 8
// doubles. With the third a product of ciphertexts takes three products of residues instead of
// four: a0 b1 + a1 b0 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1. Source: Karatsuba and Ofman, 1962.
inline constexpr std::size_t kPacked = 3 * kAtOnce;

// Whether the target in use has them; if not, do not call the next two.
bool has_packed();
// out[i stride …] = residues 8 i to 8 i + 7, for i below `groups`.
void pack(const std::uint64_t* c0, const std::uint64_t* c1, std::size_t groups, std::size_t stride,
          double* out);
// Adds the products of a[k kPacked …] and b[k kPacked …], k below `count`, to the 8 elements from
// `at` on. count: at most kMostProducts.
// cost: 15 vector operations and 6 loads a product.
void accumulate_packed(const double* a, const double* b, std::size_t count, std::size_t at,
                       const SumWords& sums);

// low += a.
void accumulate(const std::uint64_t* a, std::size_t n, std::int64_t* low);

// out = (high 2^51 + low) modulo the modulus. out may be `high`.
void reduce_sums(const Modulus& modulus, const std::uint64_t* high, const std::int64_t* low,
                 std::size_t n, std::uint64_t* out);

}  // namespace tabane::mine::bgv
