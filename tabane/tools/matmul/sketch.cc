#include "tabane/tools/matmul/sketch.h"

#include "tabane/tools/matmul/random.h"

namespace tabane::matmul {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t random_prime(std::uint64_t seed) {
  mpz_t prime;
  mpz_init_set_ui(prime, (random_bits(seed, 0) >> 4) | (std::uint64_t{1} << 59));
  mpz_nextprime(prime, prime);
  const std::uint64_t found = mpz_get_ui(prime);
  mpz_clear(prime);
  return found;
}

}  // namespace

PrimeField::PrimeField(std::uint64_t seed)
    : seed_(seed), prime_(random_prime(seed)), powers_(2 * kTable + 1) {
  const std::uint64_t half = (prime_ + 1) / 2;
  powers_[kTable] = 1;
  for (std::size_t i = 1; i <= kTable; ++i) {
    powers_[kTable + i] = add(powers_[kTable + i - 1], powers_[kTable + i - 1]);
    powers_[kTable - i] = multiply(powers_[kTable - i + 1], half);
  }
}

std::uint64_t PrimeField::multiply(std::uint64_t a, std::uint64_t b) const {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % prime_);
}

std::uint64_t PrimeField::power_of_two(WideExponent exponent) const {
  if (-kTable <= exponent && exponent <= kTable) {
    return powers_[static_cast<std::size_t>(exponent + kTable)];
  }
  const WideExponent order = static_cast<WideExponent>(prime_) - 1;
  auto left = static_cast<std::uint64_t>((exponent % order + order) % order);
  std::uint64_t result = 1;
  for (std::uint64_t square = 2; left > 0; left >>= 1, square = multiply(square, square)) {
    if (left & 1) result = multiply(result, square);
  }
  return result;
}

std::uint64_t PrimeField::of(const SignedLimbs& x) const {
  if (x.magnitude.empty()) return 0;
  const std::uint64_t residue =
      mpn_mod_1(x.magnitude.data(), static_cast<mp_size_t>(x.magnitude.size()), prime_);
  return x.negative ? subtract(0, residue) : residue;
}

std::uint64_t PrimeField::of(mpfr_srcptr x) const {
  if (!mpfr_regular_p(x)) return 0;
  const auto* const limbs = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x));
  const auto count =
      static_cast<std::size_t>((mpfr_get_prec(x) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS);
  const WideExponent last =
      static_cast<WideExponent>(mpfr_get_exp(x)) - static_cast<WideExponent>(count * GMP_NUMB_BITS);
  return multiply(of(SignedLimbs{mpfr_signbit(x) != 0, {limbs, count}}), power_of_two(last));
}

std::uint64_t PrimeField::weight(int j) const {
  return random_bits(seed_, static_cast<std::uint64_t>(j) + 1) % prime_;
}

Sketch::Sketch(const PrimeField& field, int rows, int first_column, int threads)
    : field_(field),
      first_column_(first_column),
      sums_(static_cast<std::size_t>(threads),
            std::vector<std::uint64_t>(static_cast<std::size_t>(rows))) {}

std::vector<std::uint64_t> Sketch::rows() const {
  std::vector<std::uint64_t> rows = sums_[0];
  for (std::size_t thread = 1; thread < sums_.size(); ++thread) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = field_.add(rows[i], sums_[thread][i]);
  }
  return rows;
}

}  // namespace tabane::matmul
