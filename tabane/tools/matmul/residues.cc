#include "tabane/tools/matmul/residues.h"

#include <gmpxx.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/solver/blas.h"

namespace tabane::matmul {
namespace {

// What is left below 2^53, so that a residue of an earlier product can be added.
constexpr double kMostSum = 0x1p53 - 0x1p26;
// A reduced residue is at most p / 2 + kSlack: the quotient is rounded from a rounded product.
constexpr double kSlack = 2;
// Of Miller and Rabin, as GMP's manual asks for; below 2^46 GMP's answer is exact.
constexpr int kRounds = 15;

// Returns the largest ones up to `most` whose product has more than `bits` bits.
std::vector<std::uint32_t> choose_primes(std::uint32_t most, double bits) {
  std::vector<std::uint32_t> primes;
  double have = 0;
  // The product of all primes up to x is less than e^(1.02 x), of 1.472 x bits.
  const bool too_many = bits > 1.472 * most;
  for (std::uint32_t n = (most - 1) | 1; have <= bits; n -= 2) {
    if (too_many || n < 1000) {
      throw core::UsageError("the exponents or bits are too many for residues");
    }
    if (mpz_probab_prime_p(mpz_class(n).get_mpz_t(), kRounds) == 0) continue;
    primes.push_back(n);
    have += std::log2(n) - 1e-9;
  }
  return primes;
}

double symmetric(std::uint64_t residue, std::uint32_t p) {
  return residue > p / 2 ? static_cast<double>(residue) - p : static_cast<double>(residue);
}

// Writes x, at least 0, as digits between -2^(bits - 1) and 2^(bits - 1).
void balanced_digits(const mpz_class& x, int bits, int count, double* out) {
  const mp_limb_t* const limbs = mpz_limbs_read(x.get_mpz_t());
  const std::size_t size = mpz_size(x.get_mpz_t());
  const std::int64_t base = std::int64_t{1} << bits;
  std::int64_t carry = 0;
  for (int j = 0; j < count; ++j) {
    const std::size_t at = static_cast<std::size_t>(j) * static_cast<std::size_t>(bits);
    const std::size_t limb = at / GMP_NUMB_BITS, from = at % GMP_NUMB_BITS;
    mp_limb_t word = limb < size ? limbs[limb] >> from : 0;
    if (from != 0 && limb + 1 < size) word |= limbs[limb + 1] << (GMP_NUMB_BITS - from);
    std::int64_t digit = static_cast<std::int64_t>(word & static_cast<mp_limb_t>(base - 1)) + carry;
    carry = digit > base / 2 ? 1 : 0;
    out[j] = static_cast<double>(digit - carry * base);
  }
  TABANE_ASSERT(carry == 0);
}

void fill_into(Moduli& moduli, const std::vector<std::uint32_t>& primes,
               const std::vector<std::uint64_t>& weights) {
  const auto a_digits = static_cast<std::size_t>(moduli.a_digits);
  const auto b_digits = static_cast<std::size_t>(moduli.b_digits);
  moduli.into_a.resize(primes.size() * a_digits);
  moduli.into_b.resize(primes.size() * b_digits);
  for (std::size_t i = 0; i < primes.size(); ++i) {
    const std::uint32_t p = primes[i];
    const std::uint64_t base = (std::uint64_t{1} << kDigitBits) % p;
    std::uint64_t value = 1;
    for (std::size_t j = 0; j < std::max(a_digits, b_digits); ++j, value = value * base % p) {
      if (j < a_digits) moduli.into_a[i * a_digits + j] = symmetric(value, p);
      if (j < b_digits) moduli.into_b[i * b_digits + j] = symmetric(value * weights[i] % p, p);
    }
  }
}

// Returns the (M/p)^-1 mod p.
std::vector<std::uint64_t> fill_out_of(Moduli& moduli, const std::vector<std::uint32_t>& primes) {
  mpz_class product = 1, part, inverse;
  for (const std::uint32_t p : primes) product *= p;
  // The largest digits for which count (p / 2 + slack + 1) digits stay below 2^53.
  const double sum = static_cast<double>(primes.size()) * (primes[0] / 2.0 + kSlack + 1);
  moduli.out_bits = std::min(30, 1 + static_cast<int>(std::floor(std::log2(kMostSum / sum))));
  const auto digits =
      mpz_sizeinbase(product.get_mpz_t(), 2) / static_cast<std::size_t>(moduli.out_bits) + 2;
  const std::size_t stride = digits + 1;
  moduli.out_digits = static_cast<int>(stride);
  moduli.out_of.resize(primes.size() * stride);
  moduli.whole.resize(digits);
  balanced_digits(product, moduli.out_bits, static_cast<int>(digits), moduli.whole.data());
  std::vector<std::uint64_t> weights;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    const std::uint32_t p = primes[i];
    part = product / p;
    mpz_invert(inverse.get_mpz_t(), part.get_mpz_t(), mpz_class(p).get_mpz_t());
    weights.push_back(inverse.get_ui());
    balanced_digits(part, moduli.out_bits, static_cast<int>(digits), &moduli.out_of[i * stride]);
    moduli.out_of[i * stride + digits] = 1.0 / p;
  }
  return weights;
}

constexpr std::size_t kRebuildBytes = std::size_t{1} << 19;

// What one block takes: its digits and its residues stay in the second cache.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

// Returns |x| 2^-low, which is whole.
Significand significand_of(mpfr_srcptr x, std::int64_t low) {
  if (mpfr_zero_p(x)) return {nullptr, 0, false};
  const std::int64_t limbs = (mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  return {static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x)),
          mpfr_get_exp(x) - GMP_NUMB_BITS * limbs - low, mpfr_signbit(x) != 0};
}

}  // namespace

int terms_at_once(int terms) {
  const int groups = std::max(1, (terms + kMostTermsAtOnce - 1) / kMostTermsAtOnce);
  return std::max(1, (terms + groups - 1) / groups);
}

std::uint32_t largest_prime(int terms, std::int64_t width) {
  const double digits =
      static_cast<double>(std::clamp<std::int64_t>(digits_of_width(width), 1, kMostDigitsAtOnce));
  const double by_terms = std::sqrt(kMostSum / terms_at_once(terms));
  const double by_digits = kMostSum / (digits * 0x1p24);
  const double half = std::min({by_terms, by_digits, 0x1p24}) - kSlack;
  return static_cast<std::uint32_t>(2 * std::floor(half)) - 1;
}

double primes_needed(int terms, std::int64_t a_width, std::int64_t b_width) {
  const double bits = static_cast<double>(a_width + b_width) + std::log2(terms + 1.0) + 3;
  return std::ceil(bits / std::log2(largest_prime(terms, std::max(a_width, b_width))));
}

Moduli make_moduli(int terms, int factor, std::int64_t a_width, std::int64_t b_width) {
  const double bits = static_cast<double>(a_width + b_width) +
                      std::ceil(std::log2(static_cast<double>(factor) * std::max(terms, 1))) + 2;
  const std::vector<std::uint32_t> primes =
      choose_primes(largest_prime(terms, std::max(a_width, b_width)), bits);
  Moduli moduli;
  for (const std::uint32_t p : primes) {
    moduli.primes.push_back(p);
    moduli.inverses.push_back(1.0 / p);
  }
  moduli.a_digits = static_cast<int>(std::max<std::int64_t>(1, digits_of_width(a_width)));
  moduli.b_digits = static_cast<int>(std::max<std::int64_t>(1, digits_of_width(b_width)));
  fill_into(moduli, primes, fill_out_of(moduli, primes));
  return moduli;
}

Rebuild::Rebuild(const Moduli& moduli) : moduli_(moduli) {
  const auto primes = static_cast<std::size_t>(moduli.count());
  const auto digits = static_cast<std::size_t>(moduli.out_digits);
  block_ = std::clamp<std::size_t>(kRebuildBytes / (sizeof(double) * (primes + digits)), 8, 512);
  limbs_ = digits * static_cast<std::size_t>(moduli.out_bits) / GMP_NUMB_BITS + 2;
  wide_.resize(block_ * primes);
  digits_.resize(block_ * digits);
  integers_.resize(block_ * limbs_);
}

void Rebuild::compute(const std::int32_t* residues, std::size_t stride, std::size_t count) {
  const auto primes = static_cast<std::size_t>(moduli_.count());
  for (std::size_t p = 0; p < primes; ++p) widen(residues + p * stride, &wide_[p * count], count);
  const int digits = moduli_.out_digits, n = static_cast<int>(count);
  {
    const auto alone = solver::alone_in_blas();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, digits, moduli_.count(), 1,
                wide_.data(), n, moduli_.out_of.data(), digits, 0, digits_.data(), n);
  }
  const std::size_t whole = moduli_.whole.size();
  add_digits({digits_.data(), count, &digits_[whole * count], moduli_.whole, moduli_.out_bits},
             limbs_, integers_.data());
}

// The memory of one thread.
struct Residues::Scratch {
  Scratch(std::size_t limbs, std::size_t digits_each, std::size_t primes, std::size_t block)
      : splitter(limbs, digits_each),
        numbers(block),
        digits(block * splitter.stride()),
        residues(block * primes) {}
  DigitSplitter splitter;
  std::vector<Significand> numbers;
  std::vector<double> digits, residues;
};

Residues::Residues(Factor side, const Operands& operands, const TermGroup& group,
                   const Moduli& moduli, double* values)
    : side_(side),
      operands_(operands),
      group_(group),
      moduli_(moduli),
      digits_(side == Factor::a ? moduli.a_digits : moduli.b_digits),
      values_(values) {}

void Residues::fill(std::span<const int> numbers, IndexRange some_primes, int threads) {
  numbers_ = numbers;
  primes_ = some_primes;
  plane_size_ = numbers.size() * terms();
  const auto primes = static_cast<std::size_t>(primes_.size());
  const std::size_t each = sizeof(double) * (digits_ + primes);
  const std::size_t block = std::clamp<std::size_t>(kBlockBytes / each, 32, 1024);
  const std::size_t blocks = (plane_size_ + block - 1) / block;
  std::vector<std::array<std::optional<Scratch>, 2>> scratch(threads);
  run_tasks(threads, blocks, [&](std::size_t thread, std::size_t task) {
    const std::size_t first = task * block, count = std::min(block, plane_size_ - first);
    for (int part = 0; part < operands_.parts; ++part) {
      std::optional<Scratch>& own = scratch[thread][part];
      if (!own) own.emplace(side(part).limbs(), digits_, primes, block);
      fill_block(part, first, count, *own);
    }
    if (operands_.parts == 2) add_parts(first, count);
  });
}

void Residues::read_digits(int part, std::size_t first, std::size_t count, Scratch& scratch) const {
  const bool a = side_ == Factor::a;
  const std::size_t inner = a ? terms() : numbers_.size();
  std::size_t outer_at = first / inner, inner_at = first % inner;
  for (std::size_t e = 0; e < count; ++e) {
    const std::size_t t = a ? inner_at : outer_at;
    const int line = numbers_[a ? outer_at : inner_at];
    scratch.numbers[e] = significand_of(operands_.at(side_, part, line, group_.terms.index[t]),
                                        group_.low(side_, line, t));
    if (++inner_at == inner) {
      inner_at = 0;
      ++outer_at;
    }
  }
  scratch.splitter.split(std::span(scratch.numbers).first(count), scratch.digits.data());
}

void Residues::fill_block(int part, std::size_t first, std::size_t count, Scratch& scratch) {
  read_digits(part, first, count, scratch);
  const int primes = primes_.size(), n = static_cast<int>(count);
  const int digits = static_cast<int>(digits_),
            stride = static_cast<int>(scratch.splitter.stride());
  const double* const constants = (side_ == Factor::a ? moduli_.into_a : moduli_.into_b).data() +
                                  static_cast<std::size_t>(primes_.first) * digits_;
  for (int at = 0; at < digits; at += kMostDigitsAtOnce) {
    const int some = std::min(kMostDigitsAtOnce, digits - at);
    {
      const auto alone = solver::alone_in_blas();
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, primes, some, 1,
                  scratch.digits.data() + at, stride, constants + at, digits, 0,
                  scratch.residues.data(), n);
    }
    for (int p = 0; p < primes; ++p) {
      double* const to = plane(part, primes_.first + p) + first;
      reduce(&scratch.residues[static_cast<std::size_t>(p) * count], at == 0 ? nullptr : to, to,
             count, modulus(primes_.first + p));
    }
  }
}

void Residues::add_parts(std::size_t first, std::size_t count) {
  for (int p = primes_.first; p < primes_.end; ++p) {
    reduce(plane(0, p) + first, plane(1, p) + first, plane(2, p) + first, count, modulus(p));
  }
}

}  // namespace tabane::matmul
