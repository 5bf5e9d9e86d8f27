// How the counting of candidates is cut into tasks.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

// An itemset of several items is the product of its first and of its other items, each of them a
// product again: the first of the largest power of two that leaves something, so that as few
// products as possible lie on top of each other, and neighbours share their first factor.
constexpr std::size_t first_factor_length(std::size_t length) { return std::bit_floor(length - 1); }

inline std::span<const Item> first_factor(std::span<const Item> itemset) {
  return itemset.first(first_factor_length(itemset.size()));
}
inline std::span<const Item> other_factor(std::span<const Item> itemset) {
  return itemset.subspan(first_factor_length(itemset.size()));
}

struct CountTask {
  std::size_t candidate_begin = 0, candidate_end = 0, block_begin = 0, block_end = 0;

  std::size_t candidates() const { return candidate_end - candidate_begin; }
  std::size_t blocks() const { return block_end - block_begin; }
  bool operator==(const CountTask&) const = default;
};

// Returns where a batch of at most `most` candidates ends: if possible, where the first factor
// changes. begin: < candidates.size(); most: > 0.
std::size_t end_of_batch(const Itemsets& candidates, std::size_t begin, std::size_t most);

// Returns tasks that cover each candidate in each block once, about as many as wanted: the blocks
// are cut first, because what is read of a block serves all candidates, and the candidates where
// there are few blocks. candidates: not empty; blocks, wanted: > 0.
std::vector<CountTask> plan_tasks(const Itemsets& candidates, std::size_t blocks,
                                  std::size_t wanted);

}  // namespace tabane::mine
