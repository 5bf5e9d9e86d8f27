#include "tabane/tools/mine/apriori.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/tools/mine/candidates.h"

namespace tabane::mine {
namespace {

void check_memory(const Itemsets& frequent) {
  const std::uint64_t pairs = joined_pairs(frequent);
  const double needed =
      static_cast<double>(pairs) *
      static_cast<double>((frequent.length() + 1) * sizeof(Item) + 2 * sizeof(std::uint64_t));
  const auto usable = core::usable_memory_bytes();
  if (!usable || 2 * needed <= *usable) return;
  throw core::UsageError(fmt::format(
      "up to {} candidates of {} items would have to be counted, which take {}: a larger "
      "--min-support leaves fewer",
      pairs, frequent.length() + 1, core::format_value(needed, "B")));
}

}  // namespace

void check_min_support(double min_support) {
  if (min_support > 0 && min_support <= 1) return;  // not if it is NaN
  throw core::UsageError(
      fmt::format("--min-support: {} is not a share of the transactions, more than 0 and at most "
                  "1; 0.02 asks for itemsets in 2 % of them",
                  min_support));
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
  throw core::Error(fmt::format(
      "{} transactions were counted for {} items, and {} for all but the last of them: these "
      "counts are of another database, or damaged",
      support, items.size(), most));
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

std::vector<Supported> mine(Apriori apriori, SupportCounter& counter,
                            const std::function<void(const Itemsets&)>& told) {
  while (!apriori.done()) {
    if (told) told(apriori.candidates());
    apriori.take(counter.count(apriori.candidates()));
  }
  return apriori.frequent();
}

}  // namespace tabane::mine
