#include "tabane/simd/generate.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/simd/generate.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/simd/elementwise-inl.h"

#ifndef TABANE_SIMD_GENERATE_STEP_
#define TABANE_SIMD_GENERATE_STEP_
namespace tabane::simd {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;        // 2^64 over the golden ratio, odd
constexpr std::uint64_t kOneAndMore = 0x3ff0000000000000;  // the exponent of [1, 2)

// What the lanes of the widest vectors add, 2048 bits.
constexpr auto kMultiples = [] {
  std::array<std::uint64_t, 32> multiples{};
  for (std::size_t lane = 0; lane < multiples.size(); ++lane) multiples[lane] = lane * kStep;
  return multiples;
}();

}  // namespace tabane::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace tabane::simd::HWY_NAMESPACE {

struct GeneratedValues {
  static constexpr std::size_t kArrays = 1;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    const hn::RebindToUnsigned<D> bits;
    const auto sum = hn::Add(hn::LoadU(bits, kMultiples.data()), hn::Set(bits, i * kStep));
    return hn::BitCast(d, hn::Or(hn::ShiftRight<12>(sum), hn::Set(bits, kOneAndMore)));
  }
};

void generate_f64(double* a, std::size_t n) {
  store_elements(hn::ScalableTag<double>(), a, n, GeneratedValues());
}

void generate_stream_f64(double* a, std::size_t n) {
  stream_elements(hn::ScalableTag<double>(), a, n, GeneratedValues());
}

}  // namespace tabane::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::simd {

HWY_EXPORT(generate_f64);
HWY_EXPORT(generate_stream_f64);

double generated(std::size_t i) {
  return std::bit_cast<double>(std::uint64_t{i} * kStep >> 12 | kOneAndMore);
}

void generate(std::span<double> a, Streaming streaming) {
  if (streaming.applies(a.size_bytes())) {
    TABANE_DISPATCH(generate_stream_f64)(a.data(), a.size());
  } else {
    TABANE_DISPATCH(generate_f64)(a.data(), a.size());
  }
}

std::vector<std::byte> generated_bytes(std::size_t bytes) {
  std::vector<double> values((bytes + sizeof(double) - 1) / sizeof(double));
  generate(values);
  std::vector<std::byte> contents(bytes);
  if (bytes > 0) std::memcpy(contents.data(), values.data(), bytes);
  return contents;
}

}  // namespace tabane::simd
#endif
