#include <cstddef>

#include "tabane/simd/add.h"

namespace tabane::simd {
namespace {

template <class T>
void plain_add(std::span<const T> a, std::span<const T> b, std::span<T> c) {
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[i] + b[i];
}

}  // namespace

void add_reference(std::span<const double> a, std::span<const double> b, std::span<double> c) {
  plain_add(a, b, c);
}
void add_reference(std::span<const float> a, std::span<const float> b, std::span<float> c) {
  plain_add(a, b, c);
}

}  // namespace tabane::simd
