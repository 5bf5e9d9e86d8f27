#include "tabane/tools/mine/bgv/modulus.h"

#include <gmp.h>

#include <bit>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bgv/modulus.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/tools/mine/bgv/field-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {

// out[i] = fast(field, i), residues in (-p, p), for whole vectors where the target has them;
// otherwise plain(i).
template <class Fast, class Plain>
HWY_INLINE void for_residues([[maybe_unused]] const Modulus& modulus, Residues out,
                             [[maybe_unused]] const Fast& fast, const Plain& plain) {
  std::size_t i = 0;
#if TABANE_BGV_DOUBLES
  const Field field(modulus.value());
  for (; i + kLanes <= out.size(); i += kLanes) {
    store_words(field.positive(fast(field, i)), out.data() + i);
  }
#endif
  for (; i < out.size(); ++i) out[i] = plain(i);
}

void add_all(const Modulus& m, ConstResidues a, ConstResidues b, Residues out) {
  for_residues(
      m, out,
      [&](const auto& field, std::size_t i) {
        return hn::Sub(hn::Add(field.load(&a[i]), field.load(&b[i])), field.p);
      },
      [&](std::size_t i) { return m.add(a[i], b[i]); });
}

void subtract_all(const Modulus& m, ConstResidues a, ConstResidues b, Residues out) {
  for_residues(
      m, out,
      [&](const auto& field, std::size_t i) {
        return hn::Sub(field.load(&a[i]), field.load(&b[i]));
      },
      [&](std::size_t i) { return m.subtract(a[i], b[i]); });
}

void multiply_all(const Modulus& m, ConstResidues a, ConstResidues b, Residues out) {
  for_residues(
      m, out,
      [&](const auto& field, std::size_t i) {
        return field.product(field.load(&a[i]), field.load(&b[i]));
      },
      [&](std::size_t i) { return m.multiply(a[i], b[i]); });
}

void multiply_add_all(const Modulus& m, ConstResidues a, ConstResidues b, Residues out) {
  for_residues(
      m, out,
      [&](const auto& field, std::size_t i) {
        const auto product = field.product(field.load(&a[i]), field.load(&b[i]));
        return field.reduced(hn::Add(field.load(&out[i]), product));
      },
      [&](std::size_t i) { return m.add(out[i], m.multiply(a[i], b[i])); });
}

void scale_all(const Modulus& m, ConstResidues a, std::uint64_t factor, Residues out) {
  for_residues(
      m, out,
      [&](const auto& field, std::size_t i) {
        return field.product(field.load(&a[i]), field.set(factor));
      },
      [&](std::size_t i) { return m.multiply(a[i], factor); });
}

void lift_all(const Modulus& from, ConstResidues a, const Modulus& to, Residues out) {
  const std::uint64_t q = from.value();
  for_residues(
      to, out,
      [&](const auto& field, std::size_t i) {
        const auto x = field.load(&a[i]);
        const auto too_much = hn::IfThenElseZero(hn::Gt(x, field.set(q / 2)), field.set(q));
        return field.reduced(hn::Sub(x, too_much));
      },
      [&](std::size_t i) { return to.reduce_signed(from.centred(a[i])); });
}

}  // namespace tabane::mine::bgv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tabane/core/error.h"

namespace tabane::mine::bgv {

HWY_EXPORT(add_all);
HWY_EXPORT(subtract_all);
HWY_EXPORT(multiply_all);
HWY_EXPORT(multiply_add_all);
HWY_EXPORT(scale_all);
HWY_EXPORT(lift_all);

void add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  TABANE_DISPATCH(add_all)(modulus, a, b, out);
}

void subtract(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  TABANE_DISPATCH(subtract_all)(modulus, a, b, out);
}

void multiply(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  TABANE_DISPATCH(multiply_all)(modulus, a, b, out);
}

void multiply_add(const Modulus& modulus, ConstResidues a, ConstResidues b, Residues out) {
  TABANE_ASSERT(a.size() == out.size() && b.size() == out.size());
  TABANE_DISPATCH(multiply_add_all)(modulus, a, b, out);
}

void scale(const Modulus& modulus, ConstResidues a, std::uint64_t factor, Residues out) {
  TABANE_ASSERT(a.size() == out.size());
  TABANE_DISPATCH(scale_all)(modulus, a, factor, out);
}

void lift_centred(const Modulus& from, ConstResidues a, const Modulus& to, Residues out) {
  TABANE_ASSERT(a.size() == out.size());
  TABANE_DISPATCH(lift_all)(from, a, to, out);
}

void lift(const Modulus& modulus, std::span<const std::int8_t> small, std::uint64_t factor,
          Residues out) {
  const auto signed_factor = static_cast<std::int64_t>(factor);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = modulus.reduce_signed(small[i] * signed_factor);
  }
}

Modulus::Modulus(std::uint64_t value) : value_(value) {
  if (value < 2 || value >> kMaxModulusBits != 0) {
    throw core::UsageError("a modulus is from 2 to 2^{} - 1, not {}", kMaxModulusBits, value);
  }
  ratio_ = ~std::uint64_t{0} / value;
}

std::uint64_t Modulus::power(std::uint64_t a, std::uint64_t exponent) const {
  std::uint64_t result = reduce(1);
  for (a = reduce(a); exponent > 0; exponent >>= 1, a = multiply(a, a)) {
    if (exponent & 1) result = multiply(result, a);
  }
  return result;
}

std::uint64_t Modulus::inverse(std::uint64_t a) const {
  TABANE_ASSERT(a % value_ != 0);
  return power(a, value_ - 2);
}

// Below 2^64 the test of Baillie, Pomerance, Selfridge and Wagstaff, with which GMP begins, is
// exact.
bool is_prime(std::uint64_t n) {
  static_assert(sizeof(mp_limb_t) == sizeof n);
  const mp_limb_t limb = n;
  mpz_t number;
  mpz_roinit_n(number, &limb, 1);
  return mpz_probab_prime_p(number, 25) != 0;
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
