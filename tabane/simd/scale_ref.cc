#include <cstddef>

#include "tabane/simd/scale.h"

namespace tabane::simd {
namespace {

template <class T>
void plain_scale(T s, std::span<const T> c, std::span<T> b) {
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = s * c[i];
}

}  // namespace

void scale_reference(double s, std::span<const double> c, std::span<double> b) {
  plain_scale(s, c, b);
}
void scale_reference(float s, std::span<const float> c, std::span<float> b) {
  plain_scale(s, c, b);
}

}  // namespace tabane::simd
