#include "tabane/simd/sum.h"

namespace tabane::simd {
namespace {

template <class T>
T plain(std::span<const T> x) {
  T s = 0;
  for (const T v : x) s += v;
  return s;
}

}  // namespace

double sum_reference(std::span<const double> x) { return plain(x); }
float sum_reference(std::span<const float> x) { return plain(x); }

}  // namespace tabane::simd
