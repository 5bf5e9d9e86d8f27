#include "tabane/simd/add.h"

#include "tabane/simd/elementwise_test.h"

namespace tabane::simd {
namespace {

template <class T>
struct Add {
  using Element = T;
  static void run(In<T> x, In<T> y, std::span<T> out, Streaming streaming) {
    add(x, y, out, streaming);
  }
  static void reference(In<T> x, In<T> y, std::span<T> out) { add_reference(x, y, out); }
  static std::vector<T> hand_worked() { return {11, 22, 33, 44, 55}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  static constexpr double kTolerance = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Add, Elementwise, InBothTypes<Add>, ElementName);

}  // namespace
}  // namespace tabane::simd
