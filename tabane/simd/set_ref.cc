#include <cstddef>

#include "tabane/simd/set.h"

namespace tabane::simd {
namespace {

template <class T>
void plain_set(std::span<T> a, T s) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = s;
}

}  // namespace

void set_reference(std::span<double> a, double s) { plain_set(a, s); }
void set_reference(std::span<float> a, float s) { plain_set(a, s); }

}  // namespace tabane::simd
