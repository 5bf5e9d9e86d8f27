#include "tabane/tools/matmul/finish.h"

#include <algorithm>

namespace tabane::matmul {

Finish::Finish(const Operands& operands, const Target& target, std::size_t thread)
    : operands_(operands), target_(target), thread_(thread) {}

Finish::~Finish() {
  for (__mpfr_struct& value : values_) mpfr_clear(&value);
}

void Finish::take_terms(const Place& place) {
  x_.clear();
  y_.clear();
  operands_.append_row(place.i, place.part, x_);
  operands_.append_column(place.j, place.part, y_);
}

void Finish::zero(const Place& place) {
  take_terms(place);
  const bool negative = zero_is_negative(x_, y_, target_.rounding);
  mpfr_set_zero(target_.at(place.i, place.j, place.part), negative ? -1 : 1);
}

void Finish::add_to_sketch(const Place& place, std::uint64_t exact) {
  // A complex number's parts count as columns of their own.
  Sketch& sketch = *target_.sketch;
  const int parts = operands_.parts;
  sketch.add(thread_, place.i, sketch.weight(place.j * parts + place.part), exact,
             target_.at(place.i, place.j, place.part));
}

void Finish::one(const Place& place, const SignedLimbs& value, WideExponent shift) {
  if (value.magnitude.empty()) return zero(place);
  round_to(target_.at(place.i, place.j, place.part), value, shift, target_.rounding, target_.range);
  if (target_.sketch == nullptr) return;
  const PrimeField& field = target_.sketch->field();
  add_to_sketch(place, field.multiply(field.of(value), field.power_of_two(shift)));
}

void Finish::several(const Place& place, std::span<const SignedLimbs> values,
                     std::span<const WideExponent> shifts) {
  values_.reserve(values.size());
  while (values_.size() < values.size()) mpfr_init(&values_.emplace_back());
  const WideExponent base = *std::max_element(shifts.begin(), shifts.end());
  pointers_.clear();
  std::uint64_t exact = 0;
  for (std::size_t t = 0; t < values.size(); ++t) {
    const SignedLimbs& value = values[t];
    if (value.magnitude.empty()) continue;
    const mpfr_ptr x = &values_[t];
    mpfr_set_prec(x, static_cast<mpfr_prec_t>(value.magnitude.size()) * GMP_NUMB_BITS);
    mpz_t whole;
    const auto size = static_cast<mp_size_t>(value.magnitude.size());
    mpz_roinit_n(whole, value.magnitude.data(), value.negative ? -size : size);
    mpfr_set_z_2exp(x, whole, static_cast<mpfr_exp_t>(shifts[t] - base), MPFR_RNDN);
    pointers_.push_back(x);
    if (target_.sketch != nullptr) {
      const PrimeField& field = target_.sketch->field();
      exact = field.add(exact, field.multiply(field.of(value), field.power_of_two(shifts[t])));
    }
  }
  const mpfr_ptr c = target_.at(place.i, place.j, place.part);
  const int ternary = mpfr_sum(c, pointers_.data(), pointers_.size(), target_.rounding);
  if (mpfr_zero_p(c)) return zero(place);
  shift_into_range(c, ternary, base, target_.rounding, target_.range);
  if (target_.sketch != nullptr) add_to_sketch(place, exact);
}

void Finish::apart(const Place& place) {
  take_terms(place);
  sum_.compute(target_.at(place.i, place.j, place.part), x_, y_, target_.rounding, target_.range);
  if (target_.sketch == nullptr) return;
  const auto finite = [](const __mpfr_struct& x) { return mpfr_number_p(&x) != 0; };
  if (!std::all_of(x_.begin(), x_.end(), finite) || !std::all_of(y_.begin(), y_.end(), finite)) {
    return;
  }
  const PrimeField& field = target_.sketch->field();
  std::uint64_t exact = 0;
  for (std::size_t t = 0; t < x_.size(); ++t) {
    exact = field.add(exact, field.multiply(field.of(&x_[t]), field.of(&y_[t])));
  }
  add_to_sketch(place, exact);
}

}  // namespace tabane::matmul
