// Association rules: what transactions that hold some items hold, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

struct Rule {
  std::vector<Item> if_items, then_items;  // both ascending and not empty, nothing in common
  std::uint64_t support = 0;               // of all of them
  double confidence = 0;  // the share of transactions with if_items that hold then_items, too
  double lift = 0;        // the confidence over the share of all transactions with then_items

  auto fields() { return std::tie(if_items, then_items, support, confidence, lift); }
};

// throws: core::UsageError unless 0 <= min_confidence <= 1.
void check_min_confidence(double min_confidence);

// Returns the rules of at least this confidence, the most confident first; of equal ones that of
// the larger support, then in lexicographic order. frequent: with all subsets of each itemset, as
// Apriori finds them; the items of each ascend.
std::vector<Rule> find_rules(std::span<const Supported> frequent, std::size_t transactions,
                             double min_confidence);

}  // namespace tabane::mine
