// Transactions: sets of items, from a file, and in memory item by item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tabane/core/file.h"

namespace tabane::mine {

// The number of an item: in a file that of the file, in a database its place among the items.
using Item = std::uint32_t;

// Itemsets of one length, each with its items ascending, one after the other in one array.
class Itemsets {
 public:
  Itemsets() = default;
  explicit Itemsets(std::size_t length) : length_(length) {}

  std::size_t length() const { return length_; }
  std::size_t size() const { return length_ == 0 ? 0 : items_.size() / length_; }
  bool empty() const { return items_.empty(); }
  std::span<const Item> operator[](std::size_t i) const {
    return {items_.data() + i * length_, length_};
  }
  // itemset: of length() items.
  void push_back(std::span<const Item> itemset) {
    items_.insert(items_.end(), itemset.begin(), itemset.end());
  }
  // Returns those from begin to end - 1.
  Itemsets part(std::size_t begin, std::size_t end) const {
    Itemsets some(length_);
    some.push_back(items().subspan(begin * length_, (end - begin) * length_));
    return some;
  }
  std::span<const Item> items() const { return items_; }  // of all, one after the other
  auto fields() { return std::tie(length_, items_); }

  bool operator==(const Itemsets&) const = default;

 private:
  std::size_t length_ = 0;
  std::vector<Item> items_;
};

// How many transactions hold all items of an itemset.
struct Supported {
  std::vector<Item> items;
  std::uint64_t support = 0;

  auto fields() { return std::tie(items, support); }
  bool operator==(const Supported&) const = default;
};

inline constexpr Item kLargestItem = std::numeric_limits<std::int32_t>::max();
inline constexpr std::size_t kMostItemsOfTransaction = std::size_t{1} << 24;

// What the items of a file are called.
struct ItemNames {
  std::vector<std::string> words;  // by the items' numbers; empty: the file has numbers
  std::string between = " ";       // what separates the items of a line

  auto fields() { return std::tie(words, between); }
};

// A text file in the format of the FIMI repository: one transaction a line, the numbers of its
// items separated by blanks. An empty line is a transaction without items. Lines end with \n, \r\n
// or \r. source: fimi.uantwerpen.be/data.
class FimiFile {
 public:
  // Opens a file, or standard input for "-". Reads what cannot be read twice, such as a pipe, into
  // memory now. between_words: ' ', ',' or '\t': its items are words, numbered as they are first
  // seen, and it is read into memory; 0: they are numbers.
  // throws: core::SystemError naming the file.
  explicit FimiFile(const std::string& path, char between_words = 0);

  // Calls take(items) for each transaction, from the first on; items ascend, each of them once. May
  // be called again. memory: a buffer of 1 MiB and one transaction.
  // throws: core::UsageError with file, line and what is wrong there; core::SystemError.
  void for_each(const std::function<void(std::span<const Item>)>& take) const;

  const std::string& name() const { return name_; }
  const ItemNames& item_names() const { return item_names_; }

 private:
  std::string name_;
  ItemNames item_names_;
  core::Descriptor file_;
  std::string bytes_;  // of what cannot be read twice
  bool in_memory_ = false;
};

// A database in memory: for each item one bit per transaction.
class Bitmaps {
 public:
  Bitmaps() = default;
  // Makes a database of empty transactions. names: of the items, ascending.
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
// file has changed since it was counted.
Bitmaps read_bitmaps(const FimiFile& file, const ItemCounts& counts, std::uint64_t least_support);

// ---- synthetic transactions: shopping with habits, or independent items ----

struct GenerateSettings {
  std::size_t transactions = 10'000;
  std::size_t items = 100;  // numbered from 1
  double mean_transaction = 10;
  double mean_pattern = 4;
  std::size_t patterns = 100;
  double correlation = 0.5;  // the mean share of a pattern's items that the one before has, too
  double corruption = 0.5;   // the mean share of a pattern that is left out when it is bought
  double density = 0;  // > 0: no patterns; each item is in a transaction with this probability
  std::uint64_t seed = 1;
};

// throws: core::UsageError naming an illegal number, and the legal ones.
void check(const GenerateSettings& settings);

// Calls take(items) for each transaction; items ascend. The same settings give the same
// transactions everywhere, as the generator of IBM's Quest project does. source: Agrawal and
// Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994, 2.4.3.
void generate(const GenerateSettings& settings,
              const std::function<void(std::span<const Item>)>& take);

// Writes transactions as a file in the FIMI format; "-" is stdout. throws: core::SystemError naming
// it.
void write_generated(const GenerateSettings& settings, const std::string& path);

}  // namespace tabane::mine
