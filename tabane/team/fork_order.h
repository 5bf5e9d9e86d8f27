// Which process forks which: in a tree, or in the plain loop that the tree is compared with.
#pragma once

#include <vector>

namespace tabane::team {

enum class ForkOrder {
  tree,    // every process forks half of what is left to make: at most ceil(log2 P) forks each
  serial,  // one process forks all others
};

// Returns those of the processes 1 … P - 1 that process `self` forks, in this order; process 0
// exists already. Each process is forked once, and a process forks its largest subtree first. The
// caller of a team is process 0 of an order that is larger by one. cost: O(result).
std::vector<int> children_of(int self, int processes, ForkOrder order);

// Returns the k-th of them, k = 0, 1 …; -1 after the last. Allocates nothing.
// cost: O(log processes).
int child_of(int self, int processes, ForkOrder order, int k);

// Returns how many forks follow one another until the last process of a team exists, with the
// caller as root. For a tree this is ceil(log2(P + 1)), and no process makes more forks.
int fork_depth(int processes, ForkOrder order);

}  // namespace tabane::team
