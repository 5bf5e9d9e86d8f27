// Numbers of twice the precision of a double: the unevaluated sum of two.
//
// Relative errors are those of Joldes, Muller and Popescu ("Tight and rigorous error bounds for
// basic building blocks of double-word arithmetic", 2017), in u^2 with u = 2^-53, as long as
// nothing overflows or is lost below the smallest number.
#pragma once

#include <cmath>

namespace tabane::scg {

struct Twice {
  double hi = 0, lo = 0;  // |lo| is at most half a unit in the last place of hi

  Twice() = default;
  Twice(double value) : hi(value) {}
  Twice(double high, double low) : hi(high), lo(low) {}
  Twice operator-() const { return {-hi, -lo}; }
};

// a + b, exactly; quick_sum: |a| >= |b|.
inline Twice exact_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
inline Twice quick_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// The upper half of the bits of a (Veltkamp).
inline double upper_bits(double a) {
  constexpr double kSplit = 0x1p27 + 1;
  const double product = kSplit * a;
  return product - (product - a);
}

// a b, exactly (Dekker): without a fused multiplication, which not every processor has.
inline Twice exact_product(double a, double b) {
  const double product = a * b, a_high = upper_bits(a), b_high = upper_bits(b);
  const double a_low = a - a_high, b_low = b - b_high;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

// 3 u^2.
inline Twice operator+(Twice a, Twice b) {
  const Twice high = exact_sum(a.hi, b.hi), low = exact_sum(a.lo, b.lo);
  const Twice sum = quick_sum(high.hi, high.lo + low.hi);
  return quick_sum(sum.hi, low.lo + sum.lo);
}
inline Twice operator-(Twice a, Twice b) { return a + -b; }

// 7 u^2.
inline Twice operator*(Twice a, Twice b) {
  const Twice product = exact_product(a.hi, b.hi);
  return quick_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

// 15 u^2.
inline Twice operator/(Twice a, Twice b) {
  const double quotient = a.hi / b.hi;
  const Twice back = b * Twice(quotient);
  const double rest = (a.hi - back.hi) + (a.lo - back.lo);
  return quick_sum(quotient, rest / b.hi);
}

// As one double; correct to a unit in its last place.
inline double rounded(double a) { return a; }
inline double rounded(Twice a) { return a.hi + a.lo; }

}  // namespace tabane::scg
