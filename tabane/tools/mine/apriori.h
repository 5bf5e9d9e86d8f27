// Apriori: finds all itemsets that many transactions hold, from short ones to longer ones. It asks
// for the supports of candidates and sees nothing else of the database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tabane/tools/mine/counter.h"
#include "tabane/tools/mine/itemset.h"

namespace tabane::mine {

inline constexpr int kLongestItemset = 8;

// throws: core::UsageError unless 0 < min_support <= 1.
void check_min_support(double min_support);

// Returns the least number of transactions that is at least this share of all; at least 1.
std::uint64_t least_support(double min_support, std::size_t transactions);

class Apriori {
 public:
  // items: of the database. most_length: of an itemset, > 0.
  Apriori(std::size_t items, std::size_t transactions, std::uint64_t least_support,
          std::size_t most_length);

  // Whether there is nothing to count any more.
  bool done() const { return candidates_.empty(); }
  // What is to be counted now: itemsets of one length, in lexicographic order.
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

// Runs it to its end. told: called before each counting; may be empty.
std::vector<Supported> mine(Apriori apriori, SupportCounter& counter,
                            const std::function<void(const Itemsets&)>& told = {});

}  // namespace tabane::mine
