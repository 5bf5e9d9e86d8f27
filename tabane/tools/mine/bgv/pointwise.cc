#include "tabane/tools/mine/bgv/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bgv/pointwise.cc"
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

}  // namespace tabane::mine::bgv
#endif
