#include "tabane/simd/axpy.h"

#include "tabane/simd/elementwise_test.h"

namespace tabane::simd {
namespace {

template <class T>
struct Axpy {
  using Element = T;
  static void run(In<T> x, In<T>, std::span<T> out, Streaming) { axpy(T(7), x, out); }
  static void reference(In<T> x, In<T>, std::span<T> out) { axpy_reference(T(7), x, out); }
  static std::vector<T> hand_worked() { return {17, 34, 51, 68, 85}; }
  static std::vector<Streaming> ways() { return {Streaming()}; }
  // What an FMA saves, here or in the plain loop: values are below 8 in size.
  static constexpr double kTolerance = 16;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Axpy, Elementwise, InBothTypes<Axpy>, ElementName);

}  // namespace
}  // namespace tabane::simd
