#include "tabane/simd/reduction.h"

namespace tabane::simd {
namespace {

template <class T>
T plain_sum(std::span<const T> x) {
  T s = 0;
  for (const T v : x) s += v;
  return s;
}

template <class T>
T plain_dot(std::span<const T> x, std::span<const T> y) {
  T s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += x[i] * y[i];
  return s;
}

}  // namespace

double sum_reference(std::span<const double> x) { return plain_sum(x); }
float sum_reference(std::span<const float> x) { return plain_sum(x); }

double sum_of_squares_reference(std::span<const double> x) { return plain_dot(x, x); }
float sum_of_squares_reference(std::span<const float> x) { return plain_dot(x, x); }

double dot_reference(std::span<const double> x, std::span<const double> y) {
  return plain_dot(x, y);
}
float dot_reference(std::span<const float> x, std::span<const float> y) { return plain_dot(x, y); }

}  // namespace tabane::simd
