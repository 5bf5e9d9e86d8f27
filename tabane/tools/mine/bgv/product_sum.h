// Sums of products of ciphertexts, reduced once at the end: the bulk of support counting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/bgv/modulus.h"
#include "tabane/tools/mine/bgv/parameters.h"

namespace tabane::mine::bgv {

// ---- the inner loop: sums of products of ciphertexts, without a reduction ----
//
// Residues are below 2^50, so products are below 2^100. A sum is kept in two words: high 2^51 +
// low. A product of doubles splits there by itself: fma(a, b, 2^103) rounds it to a multiple of
// 2^51 and holds that multiple in its last bits, and a second FMA gives what is missing, below 2^50
// in size. So a product costs two FMAs, a subtraction and two additions of integers, in any vector
// width.

inline constexpr int kLowBits = 51;

// After this many products of ciphertexts the sums must be reduced: |low| may reach 2^62.
inline constexpr std::size_t kMostProducts = 1024;

// The same residues of two ciphertexts, modulo one prime: c0 and c1 of each.
struct FactorResidues {
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
void accumulate(const FactorResidues& operands, std::size_t first, std::size_t last,
                const SumWords& sums);
void accumulate_reference(const FactorResidues& operands, std::size_t first, std::size_t last,
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

// ---- sums ----

// All ciphertexts must have two components, this number of primes and the same key. One thread at a
// time. Memory: 6 N words a prime, allocated at the first use.
class ProductSum {
 public:
  // primes: of the ciphertexts; at most those of the parameters.
  ProductSum(SharedContext context, std::size_t primes);

  // sum += a b, and sum += a, which may be a finished sum, too. throw: core::UsageError if a key
  // differs.
  void add_product(const CiphertextView& a, const CiphertextView& b);
  void add(const CiphertextView& a);
  // sum += a[0] b[0] + a[1] b[1] + …
  void add_products(std::span<const CiphertextView> a, std::span<const CiphertextView> b);
  // sum += other, which is of other blocks.
  void add(const ProductSum& other);

  bool empty() const { return terms_ == 0; }
  // Returns three components. throws: core::UsageError if the sum is empty.
  Ciphertext finish() const;
  void clear();

 private:
  friend class PairProducts;
  void take_in(const CiphertextView& term);
  void take_in_product(const CiphertextView& a, const CiphertextView& b);
  void make_room(std::size_t products);
  void write_reduced(std::uint64_t* out) const;  // may be to low_
  void reduce();
  SumWords sums_of(std::size_t prime);
  std::size_t size() const { return 3 * primes_ * context_->degree(); }

  SharedContext context_;
  std::size_t primes_;
  std::size_t terms_ = 0;    // all of them
  std::size_t pending_ = 0;  // products since the last reduction
  double deviation_ = 0;     // 2 to the power of that of the sum
  KeyId key_{};
  Words high_, low_;  // [component][prime][N]
};

// A pair of items, by number.
using Pair = std::pair<std::uint32_t, std::uint32_t>;

// sums[p] += the products of the items of pairs[p], over all blocks: for a database of which
// `items` are block 0's, then block 1's, `count` in each. Goes through the residues in tiles that
// stay in the second-level cache while all pairs use them, so each ciphertext is read from memory
// once for all pairs.
void add_pair_products(std::span<const CiphertextView> items, std::size_t count,
                       std::span<const Pair> pairs, std::span<ProductSum> sums);

}  // namespace tabane::mine::bgv
