#include "tabane/simd/sum.h"

namespace tabane::simd {
namespace {

template <class T>
T plain_sum(std::span<const T> x) {
  T s = 0;
  for (const T v : x) s += v;
  return s;
}

}  // namespace

double sum_reference(std::span<const double> x) { return plain_sum(x); }
float sum_reference(std::span<const float> x) { return plain_sum(x); }

}  // namespace tabane::simd
