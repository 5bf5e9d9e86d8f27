// For tests of mining: small databases, and itemsets found by trying all.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

// All itemsets of that length.
inline Itemsets all_of(std::size_t items, std::size_t length) {
  Itemsets all = single_items(items);
  while (all.length() < length) all = next_candidates(all);
  return all;
}

inline Bitmaps bitmaps_of(const std::vector<std::vector<Item>>& transactions,
                          const std::vector<Item>& names) {
  Bitmaps bitmaps(names, transactions.size());
  for (std::size_t t = 0; t < transactions.size(); ++t) {
    for (const Item item : transactions[t]) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == item) bitmaps.set(i, t);
      }
    }
  }
  return bitmaps;
}

inline Bitmaps random_bitmaps(std::size_t items, std::size_t transactions, double density,
                              unsigned seed) {
  std::vector<Item> names(items);
  for (std::size_t i = 0; i < items; ++i) names[i] = static_cast<Item>(10 * i + 3);
  Bitmaps bitmaps(names, transactions);
  std::mt19937 random(seed);
  const auto least = static_cast<std::uint64_t>(density * 0x1p32);
  for (std::size_t i = 0; i < items; ++i) {
    for (std::size_t t = 0; t < transactions; ++t) {
      if (random() < least) bitmaps.set(i, t);
    }
  }
  return bitmaps;
}

// Counts transaction by transaction.
inline std::vector<std::uint64_t> count_reference(const Bitmaps& bitmaps,
                                                  const Itemsets& candidates) {
  std::vector<std::uint64_t> counts(candidates.size());
  for (std::size_t transaction = 0; transaction < bitmaps.transactions(); ++transaction) {
    const auto has = [&](Item item) { return bitmaps.has(item, transaction); };
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (std::ranges::all_of(candidates[i], has)) ++counts[i];
    }
  }
  return counts;
}

// In the order of Apriori. items: few.
inline std::vector<Supported> frequent_by_trying_all(const Bitmaps& bitmaps, std::uint64_t least,
                                                     std::size_t longest) {
  std::vector<Supported> found;
  for (std::size_t length = 1; length <= longest; ++length) {
    std::vector<Supported> of_length;
    for (std::uint64_t set = 1; set < std::uint64_t{1} << bitmaps.items(); ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) != length) continue;
      Itemsets one(length);
      std::vector<Item> items;
      for (Item i = 0; i < bitmaps.items(); ++i) {
        if ((set >> i & 1) != 0) items.push_back(i);
      }
      one.push_back(items);
      const std::uint64_t support = count_reference(bitmaps, one)[0];
      if (support >= least) of_length.push_back({items, support});
    }
    std::ranges::sort(of_length, {}, &Supported::items);
    found.insert(found.end(), of_length.begin(), of_length.end());
  }
  return found;
}

}  // namespace tabane::mine
