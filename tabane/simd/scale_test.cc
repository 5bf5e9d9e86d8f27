#include "tabane/simd/scale.h"

#include "tabane/simd/elementwise_test.h"

namespace tabane::simd {
namespace {

template <class T>
struct Scale {
  using Element = T;
  static void run(In<T> x, In<T>, std::span<T> out, Streaming streaming) {
    scale(T(7), x, out, streaming);
  }
  static void reference(In<T> x, In<T>, std::span<T> out) { scale_reference(T(7), x, out); }
  static std::vector<T> hand_worked() { return {7, 14, 21, 28, 35}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Scale, Elementwise, InBothTypes<Scale>, ElementName);

}  // namespace
}  // namespace tabane::simd
