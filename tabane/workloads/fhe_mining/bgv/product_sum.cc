#include "tabane/workloads/fhe_mining/bgv/product_sum.h"

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/workloads/fhe_mining/bgv/accumulate.h"
#include "tabane/workloads/fhe_mining/bgv/pointwise.h"

namespace tabane::workloads::fhe_mining::bgv {
namespace {

constexpr std::size_t kTile = 64;          // residues: 512 bytes of each polynomial at a time
constexpr std::size_t kBlocksAtOnce = 32;  // of which 18 items take 576 KiB of the cache

}  // namespace

ProductSum::ProductSum(SharedContext context, std::size_t primes)
    : context_(std::move(context)), primes_(primes) {
  TABANE_ASSERT(primes_ >= 1 && primes_ <= context_->primes());
}

void ProductSum::take_in(const CiphertextView& term) {
  TABANE_ASSERT(term.components == 2 && term.primes == primes_ &&
                term.degree == context_->degree());
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

void ProductSum::reduce() {
  const std::size_t n = context_->degree();
  auto* const low = reinterpret_cast<std::int64_t*>(low_.data());
  for (std::size_t part = 0; part < 3 * primes_; ++part) {
    reduce_sums(context_->modulus(part % primes_), &high_[part * n], low + part * n, n,
                &low_[part * n]);
  }
  std::ranges::fill(high_, 0);
  pending_ = 1;  // residues count as a product does
}

void ProductSum::add_range(std::span<const CiphertextView> a, std::span<const CiphertextView> b,
                           std::size_t prime, std::size_t first, std::size_t last) {
  const std::size_t n = context_->degree();
  Sums sums{};
  for (std::size_t c = 0; c < 3; ++c) {
    sums.high[c] = &high_[(c * primes_ + prime) * n];
    sums.low[c] = reinterpret_cast<std::int64_t*>(&low_[(c * primes_ + prime) * n]);
  }
  Factors factors[kBlocksAtOnce];
  for (std::size_t begin = 0; begin < a.size(); begin += kBlocksAtOnce) {
    const std::size_t count = std::min(kBlocksAtOnce, a.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const CiphertextView &x = a[begin + i], &y = b[begin + i];
      factors[i] = {x.residues(0, prime).data(), x.residues(1, prime).data(),
                    y.residues(0, prime).data(), y.residues(1, prime).data()};
    }
    accumulate({factors, count}, first, last, sums);
  }
}

void ProductSum::add_product(const CiphertextView& a, const CiphertextView& b) {
  add_products({&a, 1}, {&b, 1});
}

void ProductSum::add_products(std::span<const CiphertextView> a,
                              std::span<const CiphertextView> b) {
  TABANE_ASSERT(a.size() == b.size());
  for (std::size_t begin = 0; begin < a.size(); begin += kBlocksAtOnce) {
    const std::size_t count = std::min(kBlocksAtOnce, a.size() - begin);
    make_room(count);
    for (std::size_t i = begin; i < begin + count; ++i) {
      take_in(a[i]);
      deviation_ = terms_ == 0
                       ? context_->noise().product(a[i].deviation, b[i].deviation)
                       : context_->noise().sum(
                             deviation_, context_->noise().product(a[i].deviation, b[i].deviation));
      ++terms_;
      take_in(b[i]);
    }
    for (std::size_t prime = 0; prime < primes_; ++prime) {
      add_range(a.subspan(begin, count), b.subspan(begin, count), prime, 0, context_->degree());
    }
  }
}

void ProductSum::add(const CiphertextView& a) {
  make_room(1);
  take_in(a);
  deviation_ = terms_ == 0 ? a.deviation : context_->noise().sum(deviation_, a.deviation);
  ++terms_;
  accumulate(a.words, 2 * primes_ * context_->degree(),
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
  deviation_ = context_->noise().sum(deviation_, other.deviation_);
  terms_ += other.terms_;
}

Ciphertext ProductSum::finish() const {
  if (empty()) throw core::UsageError("a sum of no ciphertexts has no value");
  const std::size_t n = context_->degree();
  Ciphertext result(n, 3, primes_);
  result.deviation = deviation_;
  result.key = key_;
  const auto* const low = reinterpret_cast<const std::int64_t*>(low_.data());
  for (std::size_t part = 0; part < 3 * primes_; ++part) {
    reduce_sums(context_->modulus(part % primes_), &high_[part * n], low + part * n, n,
                &result.words()[part * n]);
  }
  return result;
}

void ProductSum::clear() {
  terms_ = pending_ = 0;
  std::ranges::fill(high_, 0);
  std::ranges::fill(low_, 0);
}

void add_pair_products(std::span<const CiphertextView> items, std::size_t count,
                       std::span<const Pair> pairs, std::span<ProductSum> sums) {
  TABANE_ASSERT(count > 0 && items.size() % count == 0 && pairs.size() == sums.size());
  const std::size_t blocks = items.size() / count;
  std::vector<CiphertextView> a, b;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    a.clear();
    b.clear();
    for (std::size_t block = 0; block < blocks; ++block) {
      a.push_back(items[block * count + pairs[p].first]);
      b.push_back(items[block * count + pairs[p].second]);
    }
    sums[p].add_products(a, b);
  }
}

}  // namespace tabane::workloads::fhe_mining::bgv
