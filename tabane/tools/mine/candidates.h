// The candidates of Apriori: itemsets all of whose subsets are frequent.
#pragma once

#include <cstdint>

#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

// The items 0 … items - 1, each alone.
Itemsets single_items(std::size_t items);

// How many itemsets next_candidates() puts together before it leaves out those with a subset that
// is not frequent.
std::uint64_t joined_pairs(const Itemsets& frequent);

// Returns the itemsets, one item longer, all of whose subsets of the given length are frequent, in
// lexicographic order. frequent: in this order.
// source: Agrawal and Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994, 2.1.1.
Itemsets next_candidates(const Itemsets& frequent);

// Returns the place of an itemset among those in lexicographic order; size(): it is not there.
std::size_t place_of(const Itemsets& itemsets, std::span<const Item> itemset);

}  // namespace tabane::mine
