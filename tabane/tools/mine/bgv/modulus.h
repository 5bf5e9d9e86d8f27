// Arithmetic modulo a number below 2^50: of single values, of the residues of whole polynomials,
// and the memory of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace tabane::mine::bgv {

// Up to it the rounding error of a product of two residues as a double is below 2^47, and quotients
// are right in doubles (ntt.h).
inline constexpr int kMaxModulusBits = 50;

class Modulus {
 public:
  Modulus() = default;
  // value: 2 … 2^50 - 1. throws: core::UsageError.
  explicit Modulus(std::uint64_t value);

  std::uint64_t value() const { return value_; }

  // a: any.
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

  // Returns the representative in (-value/2, value/2].
  std::int64_t centred(std::uint64_t a) const {
    return a > value_ / 2 ? -static_cast<std::int64_t>(value_ - a) : static_cast<std::int64_t>(a);
  }

  // Prepares b as a factor of many products: floor(b 2^64 / value). Source: V. Shoup's NTL.
  std::uint64_t prepare(std::uint64_t b) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(b) << 64) / value_);
  }
  // Returns a b, where prepared = prepare(b). a: any.
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

// Whether n is a prime; never wrong. cost: microseconds.
bool is_prime(std::uint64_t n);

// Returns `count` primes = 1 modulo `step`, the largest below 2^bits first and all above
// 2^(bits - 1); fewer if there are no more.
std::vector<std::uint64_t> primes_one_modulo(std::uint64_t step, int bits, std::size_t count);

// Returns the least prime above `above` that is 1 modulo `step`.
std::uint64_t next_prime_one_modulo(std::uint64_t step, std::uint64_t above);

// Returns an element of order `order`, a power of two that divides prime - 1: always the same one.
std::uint64_t root_of_unity(const Modulus& prime, std::uint64_t order);

// ---- residues of whole polynomials ----

inline constexpr std::size_t kLineBytes = 64;

// Takes memory that begins at a cache line from operator new, so that the program's malloc serves
// it. Elements that get no value stay uninitialised, since ciphertexts are written whole.
template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(kLineBytes)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(kLineBytes)); }

  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
  }

  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

using Words = std::vector<std::uint64_t, LineAllocator<std::uint64_t>>;

// The functions below choose vectors at run time. All spans of a call have the same length, values
// are below the modulus, and out may be an operand.
using Residues = std::span<std::uint64_t>;
using ConstResidues = std::span<const std::uint64_t>;

// out = a + b
void add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out = a - b
void subtract(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out = a b
void multiply(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out += a b
void multiply_add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out);
// out = a factor; factor below the modulus
void scale(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out);
// out = the residues modulo `to` of the representatives in (-from/2, from/2)
void lift_centred(const Modulus& from, ConstResidues a, const Modulus& to, Residues out);
// out = small factor modulo the modulus
void lift(const Modulus& modulus, std::span<const std::int8_t> small, std::uint64_t factor,
          Residues out);

}  // namespace tabane::mine::bgv
