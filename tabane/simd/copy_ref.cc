#include <cstddef>

#include "tabane/simd/copy.h"

namespace tabane::simd {
namespace {

template <class T>
void plain_copy(std::span<const T> a, std::span<T> c) {
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[i];
}

}  // namespace

void copy_reference(std::span<const double> a, std::span<double> c) { plain_copy(a, c); }
void copy_reference(std::span<const float> a, std::span<float> c) { plain_copy(a, c); }

}  // namespace tabane::simd
