#include "tabane/tools/mine/bgv/product_sum.h"

#include <algorithm>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/pointwise.h"

namespace tabane::mine::bgv {
namespace {

// A product at a time would read and write all sums for each; more than four at a time are more
// streams than a processor looks ahead on.
constexpr std::size_t kTile = 64;  // residues
constexpr std::size_t kAtATime = 4;

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

Sums ProductSum::sums_of(std::size_t prime) {
  const std::size_t n = context_->degree();
  Sums sums{};
  for (std::size_t c = 0; c < 3; ++c) {
    sums.high[c] = &high_[(c * primes_ + prime) * n];
    sums.low[c] = reinterpret_cast<std::int64_t*>(&low_[(c * primes_ + prime) * n]);
  }
  return sums;
}

void ProductSum::add_tile(std::span<const CiphertextView> a, std::span<const CiphertextView> b,
                          std::size_t prime, std::size_t first, std::size_t last) {
  const Sums sums = sums_of(prime);
  Factors factors[kAtATime];
  for (std::size_t begin = 0; begin < a.size(); begin += kAtATime) {
    const std::size_t count = std::min(kAtATime, a.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const CiphertextView &x = a[begin + i], &y = b[begin + i];
      factors[i] = {x.residues(0, prime).data(), x.residues(1, prime).data(),
                    y.residues(0, prime).data(), y.residues(1, prime).data()};
    }
    accumulate({factors, count}, first, last, sums);
  }
}

void ProductSum::take_in_product(const CiphertextView& a, const CiphertextView& b) {
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
    const std::size_t count = std::min(most, a.size() - begin);
    make_room(count);
    for (std::size_t i = begin; i < begin + count; ++i) take_in_product(a[i], b[i]);
    for (std::size_t prime = 0; prime < primes_; ++prime) {
      for (std::size_t first = 0; first < n; first += tile) {
        add_tile(a.subspan(begin, count), b.subspan(begin, count), prime, first, first + tile);
      }
    }
  }
}

void ProductSum::add(const CiphertextView& a) {
  make_room(1);
  take_in(a);
  deviation_ += std::exp2(a.deviation);
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
  deviation_ += other.deviation_;
  terms_ += other.terms_;
}

Ciphertext ProductSum::finish() const {
  if (empty()) throw core::UsageError("a sum of no ciphertexts has no value");
  const std::size_t n = context_->degree();
  Ciphertext result(n, 3, primes_);
  result.deviation = std::log2(deviation_);
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
  deviation_ = 0;
  std::ranges::fill(high_, 0);
  std::ranges::fill(low_, 0);
}

}  // namespace tabane::mine::bgv
