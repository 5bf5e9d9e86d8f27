#include "tabane/tools/mine/apriori.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::mine {
namespace {

// Returns the end of the run of itemsets that have all items but the last in common with the one at
// `begin`.
std::size_t end_of_run(const Itemsets& frequent, std::size_t begin) {
  const std::size_t same = frequent.length() - 1;
  std::size_t end = begin + 1;
  while (end < frequent.size() &&
         std::ranges::equal(frequent[begin].first(same), frequent[end].first(same))) {
    ++end;
  }
  return end;
}

// Whether all subsets that lack one item are frequent. Those that lack one of the last two are
// known to be: the candidate was joined from them.
bool subsets_are_frequent(const Itemsets& frequent, std::span<const Item> candidate,
                          std::vector<Item>& subset) {
  for (std::size_t left_out = 0; left_out + 2 < candidate.size(); ++left_out) {
    subset.assign(candidate.begin(), candidate.end());
    subset.erase(subset.begin() + static_cast<std::ptrdiff_t>(left_out));
    if (place_of(frequent, subset) == frequent.size()) return false;
  }
  return true;
}

void check_memory(const Itemsets& frequent) {
  const std::uint64_t pairs = joined_pairs(frequent);
  const double needed =
      static_cast<double>(pairs) *
      static_cast<double>((frequent.length() + 1) * sizeof(Item) + 2 * sizeof(std::uint64_t));
  const auto usable = core::usable_memory_bytes();
  if (!usable || 2 * needed <= *usable) return;
  throw core::UsageError(
      "up to {} candidates of {} items would have to be counted, which take {}: a larger "
      "--min-support leaves fewer",
      pairs, frequent.length() + 1, core::format_value(needed, "B"));
}

using Supports = std::map<std::vector<Item>, std::uint64_t>;

// Returns the rule whose condition consists of the items whose bits are set.
Rule rule_of(const Supported& itemset, std::size_t bits, const Supports& supports,
             std::size_t transactions) {
  Rule rule;
  for (std::size_t i = 0; i < itemset.items.size(); ++i) {
    ((bits >> i & 1) != 0 ? rule.if_items : rule.then_items).push_back(itemset.items[i]);
  }
  const auto if_support = static_cast<double>(supports.at(rule.if_items));
  const auto then_support = static_cast<double>(supports.at(rule.then_items));
  const auto support = static_cast<double>(itemset.support);
  rule.support = itemset.support;
  rule.confidence = support / if_support;
  rule.lift = support * static_cast<double>(transactions) / (if_support * then_support);
  return rule;
}

bool comes_before(const Rule& a, const Rule& b) {
  if (a.confidence != b.confidence) return a.confidence > b.confidence;
  if (a.support != b.support) return a.support > b.support;
  return std::tie(a.if_items, a.then_items) < std::tie(b.if_items, b.then_items);
}

}  // namespace

Itemsets single_items(std::size_t items) {
  Itemsets singles(1);
  for (Item item = 0; item < items; ++item) singles.push_back({&item, 1});
  return singles;
}

std::uint64_t joined_pairs(const Itemsets& frequent) {
  std::uint64_t pairs = 0;
  for (std::size_t begin = 0, end = 0; begin < frequent.size(); begin = end) {
    end = end_of_run(frequent, begin);
    const std::uint64_t run = end - begin;
    pairs += run * (run - 1) / 2;
  }
  return pairs;
}

Itemsets next_candidates(const Itemsets& frequent) {
  Itemsets next(frequent.length() + 1);
  std::vector<Item> candidate, subset;
  for (std::size_t begin = 0, end = 0; begin < frequent.size(); begin = end) {
    end = end_of_run(frequent, begin);
    for (std::size_t i = begin; i < end; ++i) {
      candidate.assign(frequent[i].begin(), frequent[i].end());
      candidate.push_back(0);
      for (std::size_t j = i + 1; j < end; ++j) {
        candidate.back() = frequent[j].back();
        if (subsets_are_frequent(frequent, candidate, subset)) next.push_back(candidate);
      }
    }
  }
  return next;
}

std::size_t place_of(const Itemsets& itemsets, std::span<const Item> itemset) {
  const auto is_before = [&](std::size_t i) {
    return std::ranges::lexicographical_compare(itemsets[i], itemset);
  };
  const auto places = std::views::iota(std::size_t{0}, itemsets.size());
  const auto found = std::ranges::partition_point(places, is_before);
  const bool there = found != places.end() && std::ranges::equal(itemsets[*found], itemset);
  return there ? *found : itemsets.size();
}

void check_min_support(double min_support) {
  if (min_support > 0 && min_support <= 1) return;  // not if it is NaN
  throw core::UsageError(
      "--min-support: {} is not a share of the transactions, more than 0 and at most "
      "1; 0.02 asks for itemsets in 2 % of them",
      min_support);
}

std::uint64_t least_support(double min_support, std::size_t transactions) {
  const auto all = static_cast<double>(transactions);
  // The product may be rounded to either side of a whole number.
  auto least = static_cast<std::uint64_t>(std::ceil(min_support * all));
  while (least > 1 && static_cast<double>(least - 1) / all >= min_support) --least;
  while (static_cast<double>(least) / all < min_support) ++least;
  return std::max<std::uint64_t>(least, 1);
}

Apriori::Apriori(std::size_t items, std::size_t transactions, std::uint64_t least_support,
                 std::size_t most_length)
    : transactions_(transactions),
      least_support_(least_support),
      most_length_(most_length),
      candidates_(single_items(items)) {}

void Apriori::check(std::size_t candidate, std::uint64_t support) const {
  const auto items = candidates_[candidate];
  std::uint64_t most = transactions_;
  if (items.size() > 1) most = last_supports_[place_of(last_, items.first(items.size() - 1))];
  if (support <= most) return;
  throw core::Error(
      "{} transactions were counted for {} items, and {} for all but the last of them: these "
      "counts are of another database, or damaged",
      support, items.size(), most);
}

void Apriori::take(std::span<const std::uint64_t> supports) {
  TABANE_ASSERT(supports.size() == candidates_.size());
  Itemsets frequent(candidates_.length());
  std::vector<std::uint64_t> frequent_supports;
  for (std::size_t i = 0; i < supports.size(); ++i) {
    check(i, supports[i]);
    if (supports[i] < least_support_) continue;
    frequent.push_back(candidates_[i]);
    frequent_supports.push_back(supports[i]);
  }
  for (std::size_t i = 0; i < frequent.size(); ++i) {
    const auto items = frequent[i];
    frequent_.push_back({{items.begin(), items.end()}, frequent_supports[i]});
  }
  last_ = std::move(frequent);
  last_supports_ = std::move(frequent_supports);
  candidates_ = {};
  if (last_.empty() || last_.length() >= most_length_) return;
  check_memory(last_);
  candidates_ = next_candidates(last_);
}

Apriori mine(Apriori apriori, const CountSupports& count) {
  while (!apriori.done()) apriori.take(count(apriori.candidates()));
  return apriori;
}

void check_min_confidence(double min_confidence) {
  if (min_confidence >= 0 && min_confidence <= 1) return;  // not if it is NaN
  throw core::UsageError("--min-confidence: {} is not a share, at least 0 and at most 1",
                         min_confidence);
}

std::vector<Rule> find_rules(std::span<const Supported> frequent, std::size_t transactions,
                             double min_confidence) {
  Supports supports;
  for (const Supported& one : frequent) supports.emplace(one.items, one.support);
  std::vector<Rule> rules;
  for (const Supported& one : frequent) {
    const std::size_t all = (std::size_t{1} << one.items.size()) - 1;
    for (std::size_t bits = 1; bits < all; ++bits) {
      Rule rule = rule_of(one, bits, supports, transactions);
      if (rule.confidence >= min_confidence) rules.push_back(std::move(rule));
    }
  }
  std::ranges::sort(rules, comes_before);
  return rules;
}

std::vector<Supported> kept_of(std::span<const Supported> frequent, Kept kept) {
  if (kept == Kept::all) return {frequent.begin(), frequent.end()};
  Supports supports;
  for (const Supported& one : frequent) supports.emplace(one.items, one.support);
  std::set<std::vector<Item>> left_out;
  for (const Supported& larger : frequent) {
    // What is closed or maximal is so among the itemsets with one more item.
    for (std::size_t i = 0; larger.items.size() > 1 && i < larger.items.size(); ++i) {
      std::vector<Item> part = larger.items;
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(i));
      if (kept == Kept::maximal || supports.at(part) == larger.support) left_out.insert(part);
    }
  }
  std::vector<Supported> left;
  for (const Supported& one : frequent) {
    if (!left_out.contains(one.items)) left.push_back(one);
  }
  return left;
}

}  // namespace tabane::mine
