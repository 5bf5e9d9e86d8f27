#include <cstddef>

#include "tabane/simd/axpy.h"

namespace tabane::simd {
namespace {

template <class T>
void plain_axpy(T a, std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

}  // namespace

void axpy_reference(double a, std::span<const double> x, std::span<double> y) {
  plain_axpy(a, x, y);
}
void axpy_reference(float a, std::span<const float> x, std::span<float> y) { plain_axpy(a, x, y); }

}  // namespace tabane::simd
