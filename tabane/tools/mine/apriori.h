// Apriori: finds all itemsets that many transactions hold, from short ones to longer ones, and
// rules between them. It asks for the supports of candidates and sees nothing else of the database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

inline constexpr int kLongestItemset = 8;

// ---- candidates: itemsets all of whose subsets are frequent ----

// Returns the items 0 … items - 1, each alone.
Itemsets single_items(std::size_t items);

// Returns how many itemsets next_candidates() joins before it removes those with a subset that is
// not frequent.
std::uint64_t joined_pairs(const Itemsets& frequent);

// Returns the itemsets, one item longer, all of whose subsets of the given length are frequent, in
// lexicographic order. frequent: in this order.
// source: Agrawal and Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994, 2.1.1.
Itemsets next_candidates(const Itemsets& frequent);

// Returns the place of an itemset among those in lexicographic order; size(): it is not there.
std::size_t place_of(const Itemsets& itemsets, std::span<const Item> itemset);

// ---- frequent itemsets ----

// Returns how many transactions hold each candidate. candidates: of one length, in lexicographic
// order; items by their place among the database's items.
using CountSupports = std::function<std::vector<std::uint64_t>(const Itemsets& candidates)>;

// throws: core::UsageError unless 0 < min_support <= 1.
void check_min_support(double min_support);

// Returns the least number of transactions that is at least this share of all; at least 1.
std::uint64_t least_support(double min_support, std::size_t transactions);

class Apriori {
 public:
  // items: of the database. most_length: of an itemset, > 0.
  Apriori(std::size_t items, std::size_t transactions, std::uint64_t least_support,
          std::size_t most_length);

  // Whether nothing is left to count.
  bool done() const { return candidates_.empty(); }
  // The itemsets to count now: of one length, in lexicographic order.
  const Itemsets& candidates() const { return candidates_; }
  // Takes their supports and makes the next candidates. throws: core::Error if an itemset's support
  // is larger than that of its first items, which no counting gives; core::UsageError if the next
  // candidates do not fit into memory.
  void take(std::span<const std::uint64_t> supports);

  // The frequent itemsets so far, by length, then in lexicographic order.
  const std::vector<Supported>& frequent() const { return frequent_; }
  std::uint64_t least_support() const { return least_support_; }

 private:
  void check(std::size_t candidate, std::uint64_t support) const;

  std::uint64_t transactions_, least_support_;
  std::size_t most_length_;
  Itemsets candidates_;
  Itemsets last_;  // the frequent ones, one item shorter than the candidates
  std::vector<std::uint64_t> last_supports_;
  std::vector<Supported> frequent_;
};

// Returns it at its end. throws: as Apriori::take() and `count`.
Apriori mine(Apriori apriori, const CountSupports& count);

enum class Kept {
  all,
  closed,   // no larger itemset has the same support
  maximal,  // no larger itemset is frequent
};

// Returns those of some frequent itemsets, in their order. frequent: with all subsets of each, as
// Apriori finds them. Itemsets that are too long for it are not looked at.
std::vector<Supported> kept_of(std::span<const Supported> frequent, Kept kept);

// ---- association rules: what transactions that hold some items hold, too ----

struct Rule {
  std::vector<Item> if_items, then_items;  // both ascending and not empty, nothing in common
  std::uint64_t support = 0;               // of all of them
  double confidence = 0;  // the share of transactions with if_items that hold then_items, too
  double lift = 0;        // the confidence over the share of all transactions with then_items

  auto fields() { return std::tie(if_items, then_items, support, confidence, lift); }
};

// throws: core::UsageError unless 0 <= min_confidence <= 1.
void check_min_confidence(double min_confidence);

// Returns the rules of at least this confidence, sorted by descending confidence, descending
// support, and lexicographic order. frequent: with all subsets of each itemset, as Apriori finds
// them; the items of each ascend.
std::vector<Rule> find_rules(std::span<const Supported> frequent, std::size_t transactions,
                             double min_confidence);

}  // namespace tabane::mine
