// Sums of products of ciphertexts, reduced once at the end: the bulk of support counting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tabane/tools/mine/bgv/accumulate.h"
#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/bgv/modulus.h"
#include "tabane/tools/mine/bgv/parameters.h"

namespace tabane::mine::bgv {

// All ciphertexts must have two components, this number of primes and the same key. One thread at a
// time. Memory: 6 N words a prime, allocated at the first use.
class ProductSum {
 public:
  // primes: of the ciphertexts; at most those of the parameters.
  ProductSum(SharedContext context, std::size_t primes);

  // sum += a b, and sum += a. throw: core::UsageError if a key differs.
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
