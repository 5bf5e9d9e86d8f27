#include "tabane/simd/dot.h"

namespace tabane::simd {
namespace {

template <class T>
T plain_dot(std::span<const T> x, std::span<const T> y) {
  T s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += x[i] * y[i];
  return s;
}

}  // namespace

double dot_reference(std::span<const double> x, std::span<const double> y) {
  return plain_dot(x, y);
}
float dot_reference(std::span<const float> x, std::span<const float> y) { return plain_dot(x, y); }

}  // namespace tabane::simd
