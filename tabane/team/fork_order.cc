#include "tabane/team/fork_order.h"

#include <bit>

namespace tabane::team {
namespace {

// Processes [self, end) that a process of the tree is responsible for when it is made.
int end_of_subtree(int self, int processes) {
  int begin = 0;
  int end = processes;
  while (begin != self) {
    const int middle = begin + (end - begin + 1) / 2;
    (self >= middle ? begin : end) = middle;
  }
  return end;
}

}  // namespace

int child_of(int self, int processes, ForkOrder order, int k) {
  if (self < 0 || self >= processes || k < 0) return -1;
  if (order == ForkOrder::serial) return self == 0 && k < processes - 1 ? k + 1 : -1;
  int end = end_of_subtree(self, processes);
  for (int i = 0; end - self > 1; ++i) {
    end = self + (end - self + 1) / 2;
    if (i == k) return end;
  }
  return -1;
}

std::vector<int> children_of(int self, int processes, ForkOrder order) {
  std::vector<int> children;
  for (int k = 0; child_of(self, processes, order, k) >= 0; ++k) {
    children.push_back(child_of(self, processes, order, k));
  }
  return children;
}

int fork_depth(int processes, ForkOrder order) {
  if (processes < 1) return 0;
  return order == ForkOrder::serial ? processes : std::bit_width(static_cast<unsigned>(processes));
}

}  // namespace tabane::team
