#include "tabane/tools/mine/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::mine {
namespace {

using Supports = std::map<std::vector<Item>, std::uint64_t>;

// The rule whose condition is the items whose bits are set.
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

void check_min_confidence(double min_confidence) {
  if (min_confidence >= 0 && min_confidence <= 1) return;  // not if it is NaN
  throw core::UsageError(
      fmt::format("--min-confidence: {} is not a share, at least 0 and at most 1", min_confidence));
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

}  // namespace tabane::mine
