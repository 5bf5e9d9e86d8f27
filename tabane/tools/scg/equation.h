// The equation of an unknown from k, f, the sides and u alone, in the precision of a double or in
// twice that.
#pragma once

#include <cmath>
#include <type_traits>

#include "tabane/tools/scg/problem.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {

// A number of twice the precision of a double: the unevaluated sum of two.
//
// Relative errors are those of Joldes, Muller and Popescu ("Tight and rigorous error bounds for
// basic building blocks of double-word arithmetic", 2017), in u^2 with u = 2^-53, as long as
// nothing overflows or is lost below the smallest number.
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

// Returns one double, correct to a unit in its last place.
inline double rounded(double a) { return a; }
inline double rounded(Twice a) { return a.hi + a.lo; }

// Powers of two that multiply k and u; of_f: the product of both.
struct Scales {
  double of_k = 1, of_u = 1, of_f = 1;
};

// u over a block, with its frame. low: null, or what is to be added.
struct Unknowns {
  const Field& high;
  const Field* low = nullptr;

  template <class T>
  T at(std::ptrdiff_t row, std::ptrdiff_t column) const {
    if constexpr (std::is_same_v<T, Twice>) {
      return {high.row(row)[column], low == nullptr ? 0 : low->row(row)[column]};
    } else {
      return high.row(row)[column];
    }
  }
};

// The residual of an equation, and what it consists of.
template <class T>
struct Balance {
  T residual = 0;       // (b - A u)_i
  double terms = 0;     // the magnitudes of what was added up
  double right = 0;     // b_i
  double diagonal = 0;  // A_ii
};

// With Twice, the residual is wrong by at most kTwiceError terms + kLeastError. A face is known to
// 22 u^2 of itself (a division, a product), a difference to 3, their product to 7, and h^2 f to 30;
// each of five additions adds 3 u^2 of a partial sum: less than 64 u^2, u = 2^-53, twice of which
// is allowed. Numbers below 2^-1022 lose bits, each time 2^-1074 at most: kLeastError allows for it
// where no number is above 2^20 and no face below 2^-700.
inline constexpr double kTwiceError = 0x1p-99, kLeastError = 0x1p-1040;

template <class T>
class Equations {
 public:
  // given: whether f and what is known of the sides count, or are all 0 (and the residual is -A u).
  Equations(const Problem& problem, const Block& block, const Scales& scales, bool given)
      : problem_(problem), block_(block), scales_(scales), given_(given) {
    const T across = squares_across(problem);
    width_ = T(1.0) / across;
    area_ = T(1.0) / (across * across);
  }

  // row, column: of the block.
  Balance<T> at(const Unknowns& u, std::size_t row, std::size_t column) const {
    const std::size_t i = block_.first_row + row, j = block_.first_column + column;
    const auto r = static_cast<std::ptrdiff_t>(row), c = static_cast<std::ptrdiff_t>(column);
    const FacesIn<T> faces = faces_in<T>(problem_, i, j, scales_.of_k);
    const T own = u.at<T>(r, c);
    Balance<T> balance;
    balance.diagonal = rounded(faces.sum());
    if (given_) known(balance, area_ * T(problem_.f.at(i, j) * scales_.of_f));
    side(balance, kNorth, i == 0, j, faces.north, own, u.at<T>(r - 1, c));
    side(balance, kSouth, i + 1 == problem_.rows, j, faces.south, own, u.at<T>(r + 1, c));
    side(balance, kWest, j == 0, i, faces.west, own, u.at<T>(r, c - 1));
    side(balance, kEast, j + 1 == problem_.columns, i, faces.east, own, u.at<T>(r, c + 1));
    return balance;
  }

 private:
  static void add(Balance<T>& balance, T term) {
    balance.residual = balance.residual + term;
    balance.terms += std::fabs(rounded(term));
  }
  static void known(Balance<T>& balance, T term) {
    add(balance, term);
    balance.right += rounded(term);
  }

  // What flows in over one face: from the neighbour, or as the side says.
  void side(Balance<T>& balance, SideIndex side, bool at_side, std::size_t place, T face, T own,
            T neighbour) const {
    if (!at_side) return add(balance, face * (neighbour - own));
    const Side& known_side = problem_.sides[side];
    const double value = given_ ? known_side.values.at(0, place) : 0;
    if (known_side.condition == Condition::neumann) {
      return known(balance, width_ * T(value * scales_.of_f));
    }
    const T outside = value * scales_.of_u;
    add(balance, face * (outside - own));
    balance.right += rounded(face * outside);
  }

  const Problem& problem_;
  const Block& block_;
  Scales scales_;
  bool given_;
  T width_, area_;
};

}  // namespace tabane::scg
