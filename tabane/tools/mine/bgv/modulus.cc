#include "tabane/tools/mine/bgv/modulus.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bgv/modulus.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/tools/mine/bgv/field-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {

// Each function does as many elements as whole vectors hold, and returns their number.
#if TABANE_BGV_DOUBLES

// value: from the position of a vector to residues in (-p, p).
template <class F>
HWY_INLINE std::size_t store_each(const Field& field, Residues out, const F& value) {
  std::size_t i = 0;
  for (; i + kLanes <= out.size(); i += kLanes) {
    store_words(field.positive(value(i)), out.data() + i);
  }
  return i;
}

std::size_t add_vectors(std::uint64_t p, ConstResidues a, ConstResidues b, Residues out) {
  const Field field(p);
  return store_each(field, out, [&](std::size_t i) {
    return hn::Sub(hn::Add(load_words(a.data() + i), load_words(b.data() + i)), field.p);
  });
}

std::size_t subtract_vectors(std::uint64_t p, ConstResidues a, ConstResidues b, Residues out) {
  return store_each(Field(p), out, [&](std::size_t i) {
    return hn::Sub(load_words(a.data() + i), load_words(b.data() + i));
  });
}

std::size_t multiply_vectors(std::uint64_t p, ConstResidues a, ConstResidues b, Residues out) {
  const Field field(p);
  return store_each(field, out, [&](std::size_t i) {
    return field.product(load_words(a.data() + i), load_words(b.data() + i));
  });
}

std::size_t multiply_add_vectors(std::uint64_t p, ConstResidues a, ConstResidues b, Residues out) {
  const Field field(p);
  return store_each(field, out, [&](std::size_t i) {
    const V product = field.product(load_words(a.data() + i), load_words(b.data() + i));
    return field.reduced(hn::Add(load_words(out.data() + i), product));
  });
}

std::size_t scale_vectors(std::uint64_t p, ConstResidues a, std::uint64_t factor, Residues out) {
  const Field field(p);
  const V w = hn::Set(D(), static_cast<double>(factor));
  return store_each(field, out,
                    [&](std::size_t i) { return field.product(load_words(a.data() + i), w); });
}

std::size_t lift_vectors(std::uint64_t from, ConstResidues a, std::uint64_t to, Residues out) {
  const Field field(to);
  const V q = hn::Set(D(), static_cast<double>(from));
  const V half = hn::Set(D(), static_cast<double>(from / 2));
  return store_each(field, out, [&](std::size_t i) {
    const V x = load_words(a.data() + i);
    return field.reduced(hn::Sub(x, hn::IfThenElseZero(hn::Gt(x, half), q)));
  });
}

#else

std::size_t add_vectors(std::uint64_t, ConstResidues, ConstResidues, Residues) { return 0; }
std::size_t subtract_vectors(std::uint64_t, ConstResidues, ConstResidues, Residues) { return 0; }
std::size_t multiply_vectors(std::uint64_t, ConstResidues, ConstResidues, Residues) { return 0; }
std::size_t multiply_add_vectors(std::uint64_t, ConstResidues, ConstResidues, Residues) {
  return 0;
}
std::size_t scale_vectors(std::uint64_t, ConstResidues, std::uint64_t, Residues) { return 0; }
std::size_t lift_vectors(std::uint64_t, ConstResidues, std::uint64_t, Residues) { return 0; }

#endif

}  // namespace tabane::mine::bgv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tabane/core/error.h"

namespace tabane::mine::bgv {

HWY_EXPORT(add_vectors);
HWY_EXPORT(subtract_vectors);
HWY_EXPORT(multiply_vectors);
HWY_EXPORT(multiply_add_vectors);
HWY_EXPORT(scale_vectors);
HWY_EXPORT(lift_vectors);

void add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  const std::size_t done = TABANE_DISPATCH(add_vectors)(modulus.value(), a, b, out);
  add_reference(modulus, a.subspan(done), b.subspan(done), out.subspan(done));
}

void subtract(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  const std::size_t done = TABANE_DISPATCH(subtract_vectors)(modulus.value(), a, b, out);
  subtract_reference(modulus, a.subspan(done), b.subspan(done), out.subspan(done));
}

void multiply(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  const std::size_t done = TABANE_DISPATCH(multiply_vectors)(modulus.value(), a, b, out);
  multiply_reference(modulus, a.subspan(done), b.subspan(done), out.subspan(done));
}

void multiply_add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  const std::size_t done = TABANE_DISPATCH(multiply_add_vectors)(modulus.value(), a, b, out);
  multiply_add_reference(modulus, a.subspan(done), b.subspan(done), out.subspan(done));
}

void scale(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out) {
  TABANE_ASSERT(a.size() == out.size());
  const std::size_t done = TABANE_DISPATCH(scale_vectors)(modulus.value(), a, factor, out);
  scale_reference(modulus, a.subspan(done), factor, out.subspan(done));
}

void lift_centred(const Modulus& from, ConstResidues a, const Modulus& to, Residues out) {
  TABANE_ASSERT(a.size() == out.size());
  const std::size_t done = TABANE_DISPATCH(lift_vectors)(from.value(), a, to.value(), out);
  lift_centred_reference(from, a.subspan(done), to, out.subspan(done));
}

void add_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.add(a[i], b[i]);
}
void subtract_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.subtract(a[i], b[i]);
}
void multiply_reference(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.multiply(a[i], b[i]);
}
void multiply_add_reference(const Modulus& modulus, ConstResidues a, ConstResidues b,
                            Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = modulus.add(out[i], modulus.multiply(a[i], b[i]));
  }
}
void scale_reference(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = modulus.multiply(a[i], factor);
}

void lift_centred_reference(const Modulus& from, ConstResidues a, const Modulus& to, Residues out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = to.reduce_signed(from.centred(a[i]));
}

void lift(const Modulus& modulus, std::span<const std::int8_t> small, std::uint64_t factor,
          Residues out) {
  const auto signed_factor = static_cast<std::int64_t>(factor);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = modulus.reduce_signed(small[i] * signed_factor);
  }
}

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
#endif
