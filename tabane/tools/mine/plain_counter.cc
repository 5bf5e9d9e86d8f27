#include "tabane/tools/mine/plain_counter.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/plain_counter.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include <hwy/highway.h>

#include "tabane/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In two sums that do not wait for each other.
std::uint64_t count_common(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto ones = [=](std::size_t i) HWY_ATTR {
    return hn::PopulationCount(hn::And(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
  };
  auto sum = hn::Zero(d), other = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum = hn::Add(sum, ones(i));
    other = hn::Add(other, ones(i + lanes));
  }
  std::uint64_t count = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other)));
  for (; i < n; ++i) count += static_cast<std::uint64_t>(std::popcount(a[i] & b[i]));
  return count;
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

HWY_EXPORT(count_common);
HWY_EXPORT(common);

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

namespace {

// Words of each item at a time, so that what candidates share stays in the first-level cache.
constexpr std::size_t kWordsAtOnce = 1024;
// In one task, so that counting takes much longer than handing a task out.
constexpr std::size_t kCandidatesOfTask = 64;

// The common bits of a candidate's first two, three … items, in some of the words.
class Fronts {
 public:
  Fronts(const Bitmaps& bitmaps, std::size_t length)
      : bitmaps_(bitmaps), memory_(length > 2 ? (length - 2) * kWordsAtOnce : 0) {}

  void begin(std::size_t first, std::size_t words) {
    first_ = first;
    words_ = words;
    last_ = {};
  }

  // Returns how many bits all items of a candidate have in common.
  std::uint64_t count(std::span<const Item> candidate) {
    const std::size_t length = candidate.size();
    std::size_t same = 0;
    while (same < last_.size() && last_[same] == candidate[same]) ++same;
    for (std::size_t items = std::max<std::size_t>(same + 1, 2); items < length; ++items) {
      common_bits(front(candidate, items - 1), of_item(candidate[items - 1]), memory(items));
    }
    last_ = candidate;
    const auto last_item = of_item(candidate.back());
    return count_common_bits(length > 1 ? front(candidate, length - 1) : last_item, last_item);
  }

 private:
  std::span<const std::uint64_t> of_item(Item item) const {
    return bitmaps_.bits(item).subspan(first_, words_);
  }
  std::span<std::uint64_t> memory(std::size_t items) {
    return std::span(memory_).subspan((items - 2) * kWordsAtOnce, words_);
  }
  std::span<const std::uint64_t> front(std::span<const Item> candidate, std::size_t items) {
    if (items == 1) return of_item(candidate[0]);
    return memory(items);
  }

  const Bitmaps& bitmaps_;
  std::vector<std::uint64_t> memory_;
  std::span<const Item> last_;
  std::size_t first_ = 0, words_ = 0;
};

std::vector<std::uint64_t> count_some(const Bitmaps& bitmaps, const Itemsets& candidates,
                                      std::size_t begin, std::size_t end) {
  std::vector<std::uint64_t> counts(end - begin);
  Fronts fronts(bitmaps, candidates.length());
  const std::size_t words = bitmaps.items() > 0 ? bitmaps.bits(0).size() : 0;
  for (std::size_t first = 0; first < words; first += kWordsAtOnce) {
    fronts.begin(first, std::min(kWordsAtOnce, words - first));
    for (std::size_t i = begin; i < end; ++i) counts[i - begin] += fronts.count(candidates[i]);
  }
  return counts;
}

}  // namespace

std::vector<std::uint64_t> count_plain(const Bitmaps& bitmaps, const Itemsets& candidates,
                                       team::Team& team) {
  const std::size_t tasks = (candidates.size() + kCandidatesOfTask - 1) / kCandidatesOfTask;
  const auto counts = team.map<std::vector<std::uint64_t>>(tasks, [&](std::size_t task) {
    const std::size_t begin = task * kCandidatesOfTask;
    return count_some(bitmaps, candidates, begin,
                      std::min(begin + kCandidatesOfTask, candidates.size()));
  });
  std::vector<std::uint64_t> all;
  all.reserve(candidates.size());
  for (const auto& some : counts) all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace tabane::mine
#endif
