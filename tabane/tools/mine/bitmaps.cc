#include "tabane/tools/mine/bitmaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::mine {
namespace {

constexpr std::size_t kWordsOfLine = 8;  // an item begins at a cache line

std::size_t words_of(std::size_t transactions) {
  return (transactions + 64 * kWordsOfLine - 1) / (64 * kWordsOfLine) * kWordsOfLine;
}

void check_memory(const FimiFile& file, std::size_t items, std::size_t transactions) {
  const double needed =
      8.0 * static_cast<double>(items) * static_cast<double>(words_of(transactions));
  const auto usable = core::usable_memory_bytes();
  if (!usable || needed <= *usable) return;
  throw core::UsageError(fmt::format(
      "{}: {} items in {} transactions take {}, and {} are free: a larger --min-support leaves "
      "rare items out",
      file.name(), items, transactions, core::format_value(needed, "B"),
      core::format_value(*usable, "B")));
}

// Counts by item number: most files number their items from 0 or 1 on without large gaps.
class Counts {
 public:
  void add(Item item) {
    if (item < kDense) {
      if (item >= dense_.size()) dense_.resize(std::max<std::size_t>(item + 1, 2 * dense_.size()));
      ++dense_[item];
    } else {
      ++sparse_[item];
    }
  }

  std::vector<Supported> sorted() const {
    std::vector<Supported> all;
    for (std::size_t item = 0; item < dense_.size(); ++item) {
      if (dense_[item] > 0) all.push_back({{static_cast<Item>(item)}, dense_[item]});
    }
    for (const auto& [item, count] : sparse_) all.push_back({{item}, count});
    std::ranges::sort(all, {}, [](const Supported& one) { return one.items.front(); });
    return all;
  }

 private:
  static constexpr Item kDense = 1 << 20;
  std::vector<std::uint64_t> dense_;
  std::unordered_map<Item, std::uint64_t> sparse_;
};

}  // namespace

Bitmaps::Bitmaps(std::vector<Item> names, std::size_t transactions)
    : names_(std::move(names)),
      transactions_(transactions),
      words_per_item_(words_of(transactions)),
      words_(names_.size() * words_per_item_) {}

ItemCounts count_items(const FimiFile& file) {
  ItemCounts counts;
  Counts of_items;
  file.for_each([&](std::span<const Item> items) {
    ++counts.transactions;
    for (const Item item : items) of_items.add(item);
  });
  if (counts.transactions == 0) {
    throw core::UsageError(fmt::format("{}: there is no transaction in it", file.name()));
  }
  counts.items = of_items.sorted();
  return counts;
}

Bitmaps read_bitmaps(const FimiFile& file, const ItemCounts& counts, std::uint64_t least_support) {
  std::vector<Item> names;
  for (const Supported& one : counts.items) {
    if (one.support >= least_support) names.push_back(one.items.front());
  }
  check_memory(file, names.size(), counts.transactions);
  Bitmaps bitmaps(names, counts.transactions);
  std::size_t transaction = 0;
  file.for_each([&](std::span<const Item> items) {
    if (transaction == counts.transactions) ++transaction;
    if (transaction > counts.transactions) return;
    auto at = names.begin();
    for (const Item item : items) {
      at = std::lower_bound(at, names.end(), item);
      if (at == names.end()) break;
      if (*at == item) bitmaps.set(static_cast<std::size_t>(at - names.begin()), transaction);
    }
    ++transaction;
  });
  if (transaction != counts.transactions) {
    throw core::Error(fmt::format("{}: has changed while it was read", file.name()));
  }
  return bitmaps;
}

}  // namespace tabane::mine
