#include "tabane/tools/mine/bgv/modulus.h"

#include <fmt/format.h>

#include <bit>

#include "tabane/core/error.h"

namespace tabane::mine::bgv {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, std::uint64_t n) {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % n);
}

std::uint64_t power(std::uint64_t a, std::uint64_t exponent, std::uint64_t n) {
  std::uint64_t result = 1 % n;
  for (a %= n; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, a, n);
    a = multiply(a, a, n);
  }
  return result;
}

// Whether the base a leaves n, odd, possibly prime.
bool passes_miller_rabin(std::uint64_t n, std::uint64_t a) {
  const int twos = std::countr_zero(n - 1);
  std::uint64_t x = power(a, (n - 1) >> twos, n);
  if (x == 0 || x == 1 || x == n - 1) return true;
  for (int i = 1; i < twos; ++i) {
    x = multiply(x, x, n);
    if (x == n - 1) return true;
  }
  return false;
}

}  // namespace

Modulus::Modulus(std::uint64_t value) : value_(value) {
  if (value < 2 || value >> kMaxModulusBits != 0) {
    throw core::UsageError(
        fmt::format("a modulus is from 2 to 2^{} - 1, not {}", kMaxModulusBits, value));
  }
  ratio_ = ~std::uint64_t{0} / value;
}

std::uint64_t Modulus::power(std::uint64_t a, std::uint64_t exponent) const {
  return bgv::power(a, exponent, value_);
}

std::uint64_t Modulus::inverse(std::uint64_t a) const {
  TABANE_ASSERT(a % value_ != 0);
  return power(a, value_ - 2);
}

// These bases leave no composite number below 2^64 undecided. Source: Sorenson and Webster, Strong
// pseudoprimes to twelve prime bases, 2015.
bool is_prime(std::uint64_t n) {
  constexpr std::uint64_t kBases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  for (const std::uint64_t p : kBases) {
    if (n % p == 0) return n == p;
  }
  for (const std::uint64_t base : kBases) {
    if (!passes_miller_rabin(n, base)) return false;
  }
  return true;
}

std::vector<std::uint64_t> primes_one_modulo(std::uint64_t step, int bits, std::size_t count) {
  TABANE_ASSERT(step > 0 && bits > 1 && bits < 63);
  std::vector<std::uint64_t> primes;
  const std::uint64_t least = std::uint64_t{1} << (bits - 1), end = least << 1;
  if (step >= end) return primes;
  for (std::uint64_t n = (end - 2) / step * step + 1; n > least && primes.size() < count;
       n -= step) {
    if (is_prime(n)) primes.push_back(n);
    if (n <= step) break;
  }
  return primes;
}

std::uint64_t next_prime_one_modulo(std::uint64_t step, std::uint64_t above) {
  std::uint64_t n = above / step * step + 1;
  while (n <= above || !is_prime(n)) n += step;
  return n;
}

std::uint64_t root_of_unity(const Modulus& prime, std::uint64_t order) {
  const std::uint64_t p = prime.value();
  TABANE_ASSERT(std::has_single_bit(order) && order > 1 && (p - 1) % order == 0);
  for (std::uint64_t candidate = 2;; ++candidate) {
    const std::uint64_t root = prime.power(candidate, (p - 1) / order);
    if (prime.power(root, order / 2) == p - 1) return root;
  }
}

}  // namespace tabane::mine::bgv
