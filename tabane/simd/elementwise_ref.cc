#include "tabane/simd/elementwise.h"

namespace tabane::simd {
namespace {

// to[i] = value(i).
template <class T, class Value>
void for_each_element(std::span<T> to, Value value) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = value(i);
}

}  // namespace

void set_reference(std::span<double> a, double s) {
  for_each_element(a, [&](std::size_t) { return s; });
}
void set_reference(std::span<float> a, float s) {
  for_each_element(a, [&](std::size_t) { return s; });
}

void copy_reference(std::span<const double> a, std::span<double> c) {
  for_each_element(c, [&](std::size_t i) { return a[i]; });
}
void copy_reference(std::span<const float> a, std::span<float> c) {
  for_each_element(c, [&](std::size_t i) { return a[i]; });
}

void scale_reference(double s, std::span<const double> c, std::span<double> b) {
  for_each_element(b, [&](std::size_t i) { return s * c[i]; });
}
void scale_reference(float s, std::span<const float> c, std::span<float> b) {
  for_each_element(b, [&](std::size_t i) { return s * c[i]; });
}

void add_reference(std::span<const double> a, std::span<const double> b, std::span<double> c) {
  for_each_element(c, [&](std::size_t i) { return a[i] + b[i]; });
}
void add_reference(std::span<const float> a, std::span<const float> b, std::span<float> c) {
  for_each_element(c, [&](std::size_t i) { return a[i] + b[i]; });
}

void triad_reference(std::span<const double> b, double s, std::span<const double> c,
                     std::span<double> a) {
  for_each_element(a, [&](std::size_t i) { return b[i] + s * c[i]; });
}
void triad_reference(std::span<const float> b, float s, std::span<const float> c,
                     std::span<float> a) {
  for_each_element(a, [&](std::size_t i) { return b[i] + s * c[i]; });
}

void axpy_reference(double a, std::span<const double> x, std::span<double> y) {
  triad_reference(y, a, x, y);
}
void axpy_reference(float a, std::span<const float> x, std::span<float> y) {
  triad_reference(y, a, x, y);
}

}  // namespace tabane::simd
