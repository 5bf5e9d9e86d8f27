// What Apriori asks and does not do itself: how many transactions hold each candidate.
#pragma once

#include <cstdint>
#include <vector>

#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

class SupportCounter {
 public:
  virtual ~SupportCounter() = default;
  // Returns the supports of the candidates in their order, which is the lexicographic one; items by
  // their place among the database's items.
  virtual std::vector<std::uint64_t> count(const Itemsets& candidates) = 0;
};

}  // namespace tabane::mine
