#include "tabane/tools/mine/bits.h"

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bits.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums the counts of load(d, i) over all words; two sums, because an addition has to wait for the
// one before.
template <class Load>
std::uint64_t count_words(std::size_t n, Load load) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::CappedTag<std::uint64_t, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d), other = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum = hn::Add(sum, hn::PopulationCount(load(d, i)));
    other = hn::Add(other, hn::PopulationCount(load(d, i + lanes)));
  }
  std::uint64_t count = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other)));
  for (; i < n; ++i) count += hn::GetLane(hn::PopulationCount(load(one, i)));
  return count;
}

std::uint64_t count_all(const std::uint64_t* a, std::size_t n) {
  return count_words(n, [a](auto d, std::size_t i) { return hn::LoadU(d, a + i); });
}

std::uint64_t count_common(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
  return count_words(n, [a, b](auto d, std::size_t i) {
    return hn::And(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
  });
}

void common(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* out, std::size_t n) {
  const hn::ScalableTag<std::uint64_t> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(hn::And(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = a[i] & b[i];
}

}  // namespace tabane::mine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::mine {

HWY_EXPORT(count_all);
HWY_EXPORT(count_common);
HWY_EXPORT(common);

std::uint64_t count_bits(std::span<const std::uint64_t> a) {
  return TABANE_DISPATCH(count_all)(a.data(), a.size());
}

std::uint64_t count_common_bits(std::span<const std::uint64_t> a,
                                std::span<const std::uint64_t> b) {
  TABANE_ASSERT(a.size() == b.size());
  return TABANE_DISPATCH(count_common)(a.data(), b.data(), a.size());
}

void common_bits(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                 std::span<std::uint64_t> out) {
  TABANE_ASSERT(a.size() == b.size() && a.size() == out.size());
  TABANE_DISPATCH(common)(a.data(), b.data(), out.data(), a.size());
}

}  // namespace tabane::mine
#endif
