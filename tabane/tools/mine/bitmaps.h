// A database in memory, item by item: for each item one bit per transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/mine/fimi.h"
#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

class Bitmaps {
 public:
  Bitmaps() = default;
  // No transaction holds anything yet. names: of the items, ascending.
  Bitmaps(std::vector<Item> names, std::size_t transactions);

  std::size_t transactions() const { return transactions_; }
  std::size_t items() const { return names_.size(); }
  const std::vector<Item>& names() const { return names_; }

  // Transaction t is bit t % 64 of word t / 64; bits behind the last transaction are 0.
  std::span<const std::uint64_t> bits(std::size_t item) const {
    return {words_.data() + item * words_per_item_, words_per_item_};
  }
  bool has(std::size_t item, std::size_t transaction) const {
    return (bits(item)[transaction / 64] >> transaction % 64 & 1) != 0;
  }
  // Different items may be set in different threads.
  void set(std::size_t item, std::size_t transaction) {
    words_[item * words_per_item_ + transaction / 64] |= std::uint64_t{1} << transaction % 64;
  }
  // For kernels: whole words of an item.
  std::span<std::uint64_t> bits(std::size_t item) {
    return {words_.data() + item * words_per_item_, words_per_item_};
  }

 private:
  std::vector<Item> names_;
  std::size_t transactions_ = 0, words_per_item_ = 0;
  std::vector<std::uint64_t> words_;
};

// How often each item occurs in a file.
struct ItemCounts {
  std::size_t transactions = 0;
  std::vector<Supported> items;  // of one item each, ascending
};

// throws: as FimiFile::for_each(); core::UsageError if there is no transaction.
ItemCounts count_items(const FimiFile& file);

// Reads the items that occur in at least least_support transactions.
// throws: as FimiFile::for_each(); core::UsageError if memory does not suffice; core::Error if the
// file is not what was counted.
Bitmaps read_bitmaps(const FimiFile& file, const ItemCounts& counts, std::uint64_t least_support);

}  // namespace tabane::mine
