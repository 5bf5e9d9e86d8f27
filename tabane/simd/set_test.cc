#include "tabane/simd/set.h"

#include "tabane/simd/elementwise_test.h"

namespace tabane::simd {
namespace {

template <class T>
struct Set {
  using Element = T;
  static void run(In<T>, In<T>, std::span<T> out, Streaming streaming) {
    set(out, T(7), streaming);
  }
  static void reference(In<T>, In<T>, std::span<T> out) { set_reference(out, T(7)); }
  static std::vector<T> hand_worked() { return {7, 7, 7, 7, 7}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Set, Elementwise, InBothTypes<Set>, ElementName);

}  // namespace
}  // namespace tabane::simd
