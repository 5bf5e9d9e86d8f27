// Who forks whom: the plan of a tree of forks, or of the plain loop it is compared with.
#pragma once

#include <vector>

namespace tabane::team {

enum class ForkOrder {
  tree,    // every process forks half of what is left to make: at most ceil(log2 P) forks each
  serial,  // one process forks all others
};

// The processes 1 … P - 1 that process `self` forks, in the order in which it does, when process 0
// is there already. Each process is forked once. A process forks its largest subtree first. The
// caller of a team stands at 0 of a plan that is larger by one. cost: O(result).
std::vector<int> children_of(int self, int processes, ForkOrder order);

// The k-th of them, k = 0, 1 …; -1 beyond the last. Allocates nothing. cost: O(log processes).
int child_of(int self, int processes, ForkOrder order, int k);

// Forks in a row until the last process of a team exists, its caller being the root: for a tree
// ceil(log2(P + 1)), which is also the most that the caller makes.
int fork_depth(int processes, ForkOrder order);

}  // namespace tabane::team
