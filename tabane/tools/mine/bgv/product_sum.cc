#include "tabane/tools/mine/bgv/product_sum.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/ntt.h"

namespace tabane::mine::bgv {
namespace {

constexpr std::size_t kTile = 64;  // residues, whose sums stay in the first-level cache

}  // namespace

ProductSum::ProductSum(SharedContext context, std::size_t primes)
    : context_(std::move(context)), primes_(primes) {
  TABANE_ASSERT(primes_ >= 1 && primes_ <= context_->primes());
}

void ProductSum::take_in(const CiphertextView& term) {
  TABANE_ASSERT(term.primes == primes_ && term.degree == context_->degree());
  if (terms_ > 0 && term.key != key_) {
    throw core::UsageError("ciphertexts that were made with different keys cannot be added");
  }
  key_ = term.key;
}

// Makes the sums before the first product, and reduces them when they might overflow.
void ProductSum::make_room(std::size_t products) {
  if (high_.empty()) {
    high_.assign(size(), 0);
    low_.assign(size(), 0);
  }
  if (pending_ + products > kMostProducts) reduce();
  pending_ += products;
}

void ProductSum::write_reduced(std::uint64_t* out) const {
  const std::size_t n = context_->degree();
  const auto* const low = reinterpret_cast<const std::int64_t*>(low_.data());
  for (std::size_t part = 0; part < 3 * primes_; ++part) {
    reduce_sums(context_->modulus(part % primes_), &high_[part * n], low + part * n, n,
                out + part * n);
  }
}

void ProductSum::reduce() {
  write_reduced(low_.data());
  std::ranges::fill(high_, 0);
  pending_ = 1;  // residues count as a product does
}

SumWords ProductSum::sums_of(std::size_t prime) {
  const std::size_t n = context_->degree();
  SumWords sums{};
  for (std::size_t c = 0; c < 3; ++c) {
    sums.high[c] = &high_[(c * primes_ + prime) * n];
    sums.low[c] = reinterpret_cast<std::int64_t*>(&low_[(c * primes_ + prime) * n]);
  }
  return sums;
}

void ProductSum::take_in_product(const CiphertextView& a, const CiphertextView& b) {
  TABANE_ASSERT(a.components == 2 && b.components == 2);
  take_in(a);
  deviation_ += std::exp2(context_->noise().product(a.deviation, b.deviation));
  ++terms_;
  take_in(b);
}

void ProductSum::add_product(const CiphertextView& a, const CiphertextView& b) {
  add_products({&a, 1}, {&b, 1});
}

void ProductSum::add_products(std::span<const CiphertextView> a,
                              std::span<const CiphertextView> b) {
  TABANE_ASSERT(a.size() == b.size());
  const std::size_t n = context_->degree(), most = kMostProducts / 2;
  const std::size_t tile = a.size() == 1 ? n : std::min(n, kTile);
  for (std::size_t begin = 0; begin < a.size(); begin += most) {
    const std::size_t end = std::min(begin + most, a.size());
    make_room(end - begin);
    for (std::size_t i = begin; i < end; ++i) take_in_product(a[i], b[i]);
    for (std::size_t prime = 0; prime < primes_; ++prime) {
      const SumWords sums = sums_of(prime);
      for (std::size_t first = 0; first < n; first += tile) {
        for (std::size_t i = begin; i < end; ++i) {
          accumulate({a[i].residues(0, prime).data(), a[i].residues(1, prime).data(),
                      b[i].residues(0, prime).data(), b[i].residues(1, prime).data()},
                     first, first + tile, sums);
        }
      }
    }
  }
}

void ProductSum::add(const CiphertextView& a) {
  make_room(1);
  take_in(a);
  deviation_ += std::exp2(a.deviation);
  ++terms_;
  accumulate(a.words, a.components * primes_ * context_->degree(),
             reinterpret_cast<std::int64_t*>(low_.data()));
}

void ProductSum::add(const ProductSum& other) {
  TABANE_ASSERT(other.primes_ == primes_ && other.size() == size());
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  if (other.key_ != key_) {
    throw core::UsageError("ciphertexts that were made with different keys cannot be added");
  }
  make_room(other.pending_);
  for (std::size_t i = 0; i < size(); ++i) {
    high_[i] += other.high_[i];
    low_[i] += other.low_[i];
  }
  deviation_ += other.deviation_;
  terms_ += other.terms_;
}

Ciphertext ProductSum::finish() const {
  if (empty()) throw core::UsageError("a sum of no ciphertexts has no value");
  Ciphertext result(context_->degree(), 3, primes_);
  result.deviation = std::log2(deviation_);
  result.key = key_;
  write_reduced(result.words().data());
  return result;
}

void ProductSum::clear() {
  terms_ = pending_ = 0;
  deviation_ = 0;
  std::ranges::fill(high_, 0);
  std::ranges::fill(low_, 0);
}

// A database's products for many pairs, tile by tile: residues are packed, [group of
// 8][item][block], so that a pair reads two streams from the second-level cache, and its sums wait
// there, too. In the sums' own places they would be a power of two apart, of which a cache holds
// few at a time.
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
    waiting_.resize(kGroups * pairs.size() * 6 * kAtOnce);
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
    for (std::size_t prime = 0; prime < primes; ++prime) {
      for (std::size_t at = 0; at < n; at += kGroups * kAtOnce) {
        std::ranges::fill(waiting_, 0);
        for (std::size_t block = first; block < last; block += blocks_at_once_) {
          const std::size_t blocks = std::min(blocks_at_once_, last - block);
          pack_tile(prime, at, block, blocks);
          multiply_tile(blocks);
        }
        for (std::size_t p = 0; p < pairs_.size(); ++p) add_waiting(p, sums_[p].sums_of(prime), at);
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

  SumWords waiting(std::size_t group, std::size_t pair) {
    std::uint64_t* const words = &waiting_[(group * pairs_.size() + pair) * 6 * kAtOnce];
    SumWords sums{};
    for (std::size_t c = 0; c < 3; ++c) {
      sums.high[c] = words + c * kAtOnce;
      sums.low[c] = reinterpret_cast<std::int64_t*>(words + (3 + c) * kAtOnce);
    }
    return sums;
  }

  void multiply_tile(std::size_t blocks) {
    for (std::size_t group = 0; group < kGroups; ++group) {
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const auto [a, b] = pairs_[p];
        accumulate_packed(packed(group, place_[a], 0), packed(group, place_[b], 0), blocks, 0,
                          waiting(group, p));
      }
    }
  }

  void add_waiting(std::size_t pair, const SumWords& sums, std::size_t at) {
    for (std::size_t group = 0; group < kGroups; ++group) {
      const SumWords from = waiting(group, pair);
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t i = 0; i < kAtOnce; ++i) {
          sums.high[c][at + group * kAtOnce + i] += from.high[c][i];
          sums.low[c][at + group * kAtOnce + i] += from.low[c][i];
        }
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
  Words waiting_;  // sums of a tile, [group][pair][high, low][component][8]
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

}  // namespace tabane::mine::bgv
