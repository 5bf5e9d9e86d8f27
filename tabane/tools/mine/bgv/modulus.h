// Arithmetic modulo a number below 2^50, one value at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace tabane::mine::bgv {

// Below it a product of two residues, rounded to a double, misses by less than 2^47, and quotients
// come out right in doubles (ntt.h).
inline constexpr int kMaxModulusBits = 50;

class Modulus {
 public:
  Modulus() = default;
  // value: 2 … 2^50 - 1. throws: core::UsageError.
  explicit Modulus(std::uint64_t value);

  std::uint64_t value() const { return value_; }

  // Any a.
  std::uint64_t reduce(std::uint64_t a) const {
    const std::uint64_t r = a - high(a, ratio_) * value_;
    return r >= value_ ? r - value_ : r;
  }
  std::uint64_t reduce_signed(std::int64_t a) const {
    return a >= 0 ? reduce(static_cast<std::uint64_t>(a))
                  : negate(reduce(std::uint64_t{0} - static_cast<std::uint64_t>(a)));
  }

  // a, b: below value().
  std::uint64_t add(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t sum = a + b;
    return sum >= value_ ? sum - value_ : sum;
  }
  std::uint64_t subtract(std::uint64_t a, std::uint64_t b) const {
    return a >= b ? a - b : a + value_ - b;
  }
  std::uint64_t negate(std::uint64_t a) const { return a == 0 ? 0 : value_ - a; }
  std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % value_);
  }
  std::uint64_t power(std::uint64_t a, std::uint64_t exponent) const;
  // value(): a prime; a: not 0.
  std::uint64_t inverse(std::uint64_t a) const;

  // The representative in (-value/2, value/2].
  std::int64_t centred(std::uint64_t a) const {
    return a > value_ / 2 ? -static_cast<std::int64_t>(value_ - a) : static_cast<std::int64_t>(a);
  }

  // b as a factor of many products: floor(b 2^64 / value). Source: V. Shoup's NTL.
  std::uint64_t prepare(std::uint64_t b) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(b) << 64) / value_);
  }
  // a b, where prepared = prepare(b). Any a.
  std::uint64_t multiply_prepared(std::uint64_t a, std::uint64_t b, std::uint64_t prepared) const {
    const std::uint64_t r = a * b - high(a, prepared) * value_;
    return r >= value_ ? r - value_ : r;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static std::uint64_t high(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
  }

  std::uint64_t value_ = 2;
  std::uint64_t ratio_ = 0;  // floor((2^64 - 1) / value)
};

// Whether n is a prime, without a doubt. cost: microseconds.
bool is_prime(std::uint64_t n);

// Returns `count` primes = 1 modulo `step`, the largest below 2^bits first and all above
// 2^(bits - 1); fewer if there are no more.
std::vector<std::uint64_t> primes_one_modulo(std::uint64_t step, int bits, std::size_t count);

// Returns the least prime above `above` that is 1 modulo `step`.
std::uint64_t next_prime_one_modulo(std::uint64_t step, std::uint64_t above);

// Returns an element of order `order`, a power of two that divides prime - 1: always the same one.
std::uint64_t root_of_unity(const Modulus& prime, std::uint64_t order);

}  // namespace tabane::mine::bgv
