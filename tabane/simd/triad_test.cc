#include "tabane/simd/triad.h"

#include "tabane/simd/elementwise_test.h"

namespace tabane::simd {
namespace {

template <class T>
struct Triad {
  using Element = T;
  static void run(In<T> x, In<T> y, std::span<T> out, Streaming streaming) {
    triad(x, T(7), y, out, streaming);
  }
  static void reference(In<T> x, In<T> y, std::span<T> out) { triad_reference(x, T(7), y, out); }
  static std::vector<T> hand_worked() { return {71, 142, 213, 284, 355}; }
  static std::vector<Streaming> ways() { return {Streaming(), Streaming::always()}; }
  // What an FMA saves, here or in the plain loop: values are below 8 in size.
  static constexpr double kTolerance = 16;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Triad, Elementwise, InBothTypes<Triad>, ElementName);

}  // namespace
}  // namespace tabane::simd
