#include <cstddef>

#include "tabane/simd/triad.h"

namespace tabane::simd {
namespace {

template <class T>
void plain_triad(std::span<const T> b, T s, std::span<const T> c, std::span<T> a) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + s * c[i];
}

}  // namespace

void triad_reference(std::span<const double> b, double s, std::span<const double> c,
                     std::span<double> a) {
  plain_triad(b, s, c, a);
}
void triad_reference(std::span<const float> b, float s, std::span<const float> c,
                     std::span<float> a) {
  plain_triad(b, s, c, a);
}

}  // namespace tabane::simd
