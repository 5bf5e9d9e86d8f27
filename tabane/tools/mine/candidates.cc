#include "tabane/tools/mine/candidates.h"

#include <algorithm>
#include <vector>

namespace tabane::mine {
namespace {

// Returns where the run of itemsets ends that begin with the same items, all but the last, as the
// one at `begin`.
std::size_t end_of_run(const Itemsets& frequent, std::size_t begin) {
  const std::size_t same = frequent.length() - 1;
  std::size_t end = begin + 1;
  while (end < frequent.size() &&
         std::ranges::equal(frequent[begin].first(same), frequent[end].first(same))) {
    ++end;
  }
  return end;
}

// Whether all subsets that lack one item are frequent; those that lack one of the last two are what
// the candidate was put together from.
bool subsets_are_frequent(const Itemsets& frequent, std::span<const Item> candidate,
                          std::vector<Item>& subset) {
  for (std::size_t left_out = 0; left_out + 2 < candidate.size(); ++left_out) {
    subset.assign(candidate.begin(), candidate.end());
    subset.erase(subset.begin() + static_cast<std::ptrdiff_t>(left_out));
    if (place_of(frequent, subset) == frequent.size()) return false;
  }
  return true;
}

}  // namespace

Itemsets single_items(std::size_t items) {
  Itemsets singles(1);
  for (Item item = 0; item < items; ++item) singles.push_back({&item, 1});
  return singles;
}

std::uint64_t joined_pairs(const Itemsets& frequent) {
  std::uint64_t pairs = 0;
  for (std::size_t begin = 0, end = 0; begin < frequent.size(); begin = end) {
    end = end_of_run(frequent, begin);
    const std::uint64_t run = end - begin;
    pairs += run * (run - 1) / 2;
  }
  return pairs;
}

Itemsets next_candidates(const Itemsets& frequent) {
  Itemsets next(frequent.length() + 1);
  std::vector<Item> candidate, subset;
  for (std::size_t begin = 0, end = 0; begin < frequent.size(); begin = end) {
    end = end_of_run(frequent, begin);
    for (std::size_t i = begin; i < end; ++i) {
      candidate.assign(frequent[i].begin(), frequent[i].end());
      candidate.push_back(0);
      for (std::size_t j = i + 1; j < end; ++j) {
        candidate.back() = frequent[j].back();
        if (subsets_are_frequent(frequent, candidate, subset)) next.push_back(candidate);
      }
    }
  }
  return next;
}

std::size_t place_of(const Itemsets& itemsets, std::span<const Item> itemset) {
  std::size_t low = 0, high = itemsets.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (std::ranges::lexicographical_compare(itemsets[middle], itemset)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const bool there = low < itemsets.size() && std::ranges::equal(itemsets[low], itemset);
  return there ? low : itemsets.size();
}

}  // namespace tabane::mine
