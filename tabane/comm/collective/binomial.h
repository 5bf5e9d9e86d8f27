// A rank's place in a binomial tree whose ranks count from the root.
#pragma once

#include <algorithm>

namespace tabane::comm {

struct BinomialPlace {
  BinomialPlace(int all_ranks, int rank, int tree_root)
      : ranks(all_ranks), root(tree_root), position((rank - root + ranks) % ranks) {
    while (span < ranks && (position & span) == 0) span *= 2;
  }

  int rank_at(int at) const { return (at + root) % ranks; }
  int parent() const { return rank_at(position - span); }  // not of the root
  int served() const { return std::min(span, ranks - position); }

  int ranks, root, position;
  int span = 1;  // of positions that this rank serves, its own first, as if there were 2^k ranks
};

}  // namespace tabane::comm
