// The problem by which counting on encrypted data is measured: all pairs of a few items in
// transactions that hold each item with probability one half.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tabane/tools/mine/bitmaps.h"
#include "tabane/tools/mine/itemset.h"
#include "tabane/tools/mine/scheme.h"

namespace tabane::mine {

// The defaults are those of the report process-thread.
struct PairsProblem {
  std::size_t items = 18;
  std::size_t transactions = 1'943'424;
  std::uint64_t seed = 1;
};

// The same problem has the same transactions everywhere; items are numbered from 1.
// throws: as generate().
Bitmaps transactions_of(const PairsProblem& problem);

// In lexicographic order.
Itemsets all_pairs(std::size_t items);

// Products without key switches, in the least secure ring.
Scheme scheme_of(const PairsProblem& problem);

}  // namespace tabane::mine
