#include "tabane/simd/sum_of_squares.h"

namespace tabane::simd {
namespace {

template <class T>
T plain_sum_of_squares(std::span<const T> x) {
  T s = 0;
  for (const T v : x) s += v * v;
  return s;
}

}  // namespace

double sum_of_squares_reference(std::span<const double> x) { return plain_sum_of_squares(x); }
float sum_of_squares_reference(std::span<const float> x) { return plain_sum_of_squares(x); }

}  // namespace tabane::simd
