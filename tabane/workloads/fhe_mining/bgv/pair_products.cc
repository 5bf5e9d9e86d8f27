#include <algorithm>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/workloads/fhe_mining/bgv/accumulate.h"
#include "tabane/workloads/fhe_mining/bgv/ntt.h"
#include "tabane/workloads/fhe_mining/bgv/product_sum.h"

namespace tabane::workloads::fhe_mining::bgv {

// A database's products for many pairs. Residues are packed in tiles, [group of 8][item][block], so
// that a pair reads two streams from the second-level cache.
class PairProducts {
 public:
  PairProducts(std::span<const CiphertextView> items, std::size_t count,
               std::span<const Pair> pairs, std::span<ProductSum> sums)
      : items_(items), count_(count), pairs_(pairs), sums_(sums), place_(count, kNone) {
    for (const auto& [a, b] : pairs) {
      TABANE_ASSERT(a < count && b < count);
      for (const std::uint32_t item : {a, b}) {
        if (place_[item] != kNone) continue;
        place_[item] = static_cast<std::uint32_t>(used_.size());
        used_.push_back(item);
      }
    }
    blocks_at_once_ =
        std::clamp<std::size_t>(kTileBytes / (used_.size() * kGroups * kPacked * sizeof(double)),
                                kLeastBlocks, kMostBlocks);
    packed_.resize(kGroups * used_.size() * blocks_at_once_ * kPacked);
  }

  // Blocks first to last - 1, at most kMostProducts / 2.
  void add(std::size_t first, std::size_t last) {
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      sums_[p].make_room(last - first);
      for (std::size_t block = first; block < last; ++block) {
        sums_[p].take_in_product(item(block, pairs_[p].first), item(block, pairs_[p].second));
      }
    }
    const std::size_t n = items_[0].degree, primes = items_[0].primes;
    std::vector<Sums> sums(pairs_.size());
    for (std::size_t prime = 0; prime < primes; ++prime) {
      for (std::size_t p = 0; p < pairs_.size(); ++p) sums[p] = sums_[p].sums_of(prime);
      for (std::size_t at = 0; at < n; at += kGroups * kAtOnce) {
        for (std::size_t block = first; block < last; block += blocks_at_once_) {
          const std::size_t blocks = std::min(blocks_at_once_, last - block);
          pack_tile(prime, at, block, blocks);
          multiply_tile(at, blocks, sums);
        }
      }
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kGroups = 4;  // 256 bytes of each polynomial
  // Small enough for second-level caches; blocks are at least so many that sums are touched rarely.
  static constexpr std::size_t kTileBytes = std::size_t{384} << 10;
  static constexpr std::size_t kLeastBlocks = 4, kMostBlocks = 64;

  const CiphertextView& item(std::size_t block, std::size_t number) const {
    return items_[block * count_ + number];
  }
  double* packed(std::size_t group, std::size_t place, std::size_t block) {
    return &packed_[((group * used_.size() + place) * blocks_at_once_ + block) * kPacked];
  }

  void pack_tile(std::size_t prime, std::size_t at, std::size_t first, std::size_t blocks) {
    const std::size_t stride = used_.size() * blocks_at_once_ * kPacked;
    for (std::size_t block = 0; block < blocks; ++block) {
      for (std::size_t place = 0; place < used_.size(); ++place) {
        const CiphertextView& c = item(first + block, used_[place]);
        pack(c.residues(0, prime).data() + at, c.residues(1, prime).data() + at, kGroups, stride,
             packed(0, place, block));
      }
    }
  }

  void multiply_tile(std::size_t at, std::size_t blocks, std::span<const Sums> sums) {
    for (std::size_t group = 0; group < kGroups; ++group) {
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [a, b] = pairs_[p];
        accumulate_packed(packed(group, place_[a], 0), packed(group, place_[b], 0), blocks,
                          at + group * kAtOnce, sums[p]);
      }
    }
  }

  std::span<const CiphertextView> items_;
  std::size_t count_;
  std::span<const Pair> pairs_;
  std::span<ProductSum> sums_;
  std::vector<std::uint32_t> place_, used_;  // of an item among those that pairs use, and back
  std::size_t blocks_at_once_;
  Doubles packed_;
};

namespace {

// Where nothing can be packed.
void add_one_pair(std::span<const CiphertextView> items, std::size_t count, const Pair& pair,
                  ProductSum& sum) {
  std::vector<CiphertextView> a, b;
  for (std::size_t at = 0; at < items.size(); at += count) {
    a.push_back(items[at + pair.first]);
    b.push_back(items[at + pair.second]);
  }
  sum.add_products(a, b);
}

}  // namespace

void add_pair_products(std::span<const CiphertextView> items, std::size_t count,
                       std::span<const Pair> pairs, std::span<ProductSum> sums) {
  TABANE_ASSERT(count > 0 && items.size() % count == 0 && pairs.size() == sums.size());
  if (items.empty() || pairs.empty()) return;
  if (!has_packed()) {
    for (std::size_t p = 0; p < pairs.size(); ++p) add_one_pair(items, count, pairs[p], sums[p]);
    return;
  }
  PairProducts products(items, count, pairs, sums);
  const std::size_t blocks = items.size() / count, most = kMostProducts / 2;
  for (std::size_t first = 0; first < blocks; first += most) {
    products.add(first, std::min(blocks, first + most));
  }
}

}  // namespace tabane::workloads::fhe_mining::bgv
