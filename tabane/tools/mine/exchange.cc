#include "tabane/tools/mine/exchange.h"

#include <algorithm>

#include "tabane/core/error.h"

namespace tabane::mine {

Query Query::of(const DatabaseId& database, const Itemsets& candidates) {
  return {.database = database,
          .length = candidates.length(),
          .items = {candidates.items().begin(), candidates.items().end()}};
}

Itemsets Query::candidates() const {
  if (length == 0 || items.empty() || items.size() % length != 0) {
    throw core::UsageError("the query has no candidates of one length");
  }
  Itemsets all(length);
  all.push_back(items);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool ascends =
        std::ranges::adjacent_find(all[i], std::ranges::greater_equal{}) == all[i].end();
    if (!ascends || (i > 0 && !std::ranges::lexicographical_compare(all[i - 1], all[i]))) {
      throw core::UsageError("the query's candidates are not in their order");
    }
  }
  return all;
}

}  // namespace tabane::mine
