#include "tabane/simd/copy.h"

#include "tabane/simd/elementwise_test.h"

namespace tabane::simd {
namespace {

template <class T>
struct Copy {
  using Element = T;
  static void run(In<T> x, In<T>, std::span<T> out, Streaming streaming) {
    simd::copy(x, out, streaming);
  }
  static void reference(In<T> x, In<T>, std::span<T> out) { copy_reference(x, out); }
  static std::vector<T> hand_worked() { return {1, 2, 3, 4, 5}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Copy, Elementwise, InBothTypes<Copy>, ElementName);

}  // namespace
}  // namespace tabane::simd
