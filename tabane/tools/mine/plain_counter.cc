#include "tabane/tools/mine/plain_counter.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "tabane/tools/mine/bits.h"

namespace tabane::mine {
namespace {

// Words of each item at a time: what candidates share stays in the first cache.
constexpr std::size_t kWordsAtOnce = 1024;
// Of one task, so that a task has much more to do than to be handed out.
constexpr std::size_t kCandidatesOfTask = 64;

// The common bits of a candidate's first items, each number of them, in some of the words.
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
    if (length == 1) return count_bits(of_item(candidate[0]));
    std::size_t same = 0;
    while (same < last_.size() && last_[same] == candidate[same]) ++same;
    for (std::size_t items = std::max<std::size_t>(same + 1, 2); items < length; ++items) {
      common_bits(front(candidate, items - 1), of_item(candidate[items - 1]), memory(items));
    }
    last_ = candidate;
    return count_common_bits(front(candidate, length - 1), of_item(candidate[length - 1]));
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

bool holds(const Bitmaps& bitmaps, std::span<const Item> itemset, std::size_t transaction) {
  return std::ranges::all_of(itemset, [&](Item item) { return bitmaps.has(item, transaction); });
}

}  // namespace

std::vector<std::uint64_t> PlainCounter::count(const Itemsets& candidates) {
  const std::size_t tasks = (candidates.size() + kCandidatesOfTask - 1) / kCandidatesOfTask;
  const auto counts = team_.map<std::vector<std::uint64_t>>(tasks, [&](std::size_t task) {
    const std::size_t begin = task * kCandidatesOfTask;
    return count_some(bitmaps_, candidates, begin,
                      std::min(begin + kCandidatesOfTask, candidates.size()));
  });
  std::vector<std::uint64_t> all;
  all.reserve(candidates.size());
  for (const auto& some : counts) all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::vector<std::uint64_t> count_reference(const Bitmaps& bitmaps, const Itemsets& candidates) {
  std::vector<std::uint64_t> counts(candidates.size());
  for (std::size_t transaction = 0; transaction < bitmaps.transactions(); ++transaction) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (holds(bitmaps, candidates[i], transaction)) ++counts[i];
    }
  }
  return counts;
}

}  // namespace tabane::mine
