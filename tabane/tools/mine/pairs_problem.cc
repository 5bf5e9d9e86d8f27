#include "tabane/tools/mine/pairs_problem.h"

#include <numeric>
#include <span>
#include <vector>

#include "tabane/tools/mine/generate.h"

namespace tabane::mine {

Bitmaps transactions_of(const PairsProblem& problem) {
  std::vector<Item> names(problem.items);
  std::iota(names.begin(), names.end(), Item{1});
  Bitmaps bitmaps(names, problem.transactions);
  std::size_t transaction = 0;
  generate({.transactions = problem.transactions,
            .items = problem.items,
            .density = 0.5,
            .seed = problem.seed},
           [&](std::span<const Item> held) {
             for (const Item name : held) bitmaps.set(name - 1, transaction);
             ++transaction;
           });
  return bitmaps;
}

Itemsets all_pairs(std::size_t items) {
  Itemsets pairs(2);
  for (Item first = 0; first < items; ++first) {
    for (Item second = first + 1; second < items; ++second) {
      pairs.push_back(std::vector<Item>{first, second});
    }
  }
  return pairs;
}

Scheme scheme_of(const PairsProblem& problem) {
  return {.most_length = 2, .transactions = problem.transactions};
}

}  // namespace tabane::mine
