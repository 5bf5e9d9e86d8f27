#include "tabane/team/fork_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace tabane::team {
namespace {

int ceil_log2(int processes) { return std::bit_width(static_cast<unsigned>(processes) - 1); }

// Forks in a row until everything below `self` exists, by walking the plan.
int walk_depth(int self, int processes, ForkOrder order) {
  int deepest = 0;
  int made = 0;
  for (const int child : children_of(self, processes, order)) {
    ++made;
    deepest = std::max(deepest, made + walk_depth(child, processes, order));
  }
  return deepest;
}

TEST(ChildrenOf, IsTheHandDrawnTreeOfEight) {
  using List = std::vector<int>;
  EXPECT_EQ(children_of(0, 8, ForkOrder::tree), (List{4, 2, 1}));
  EXPECT_EQ(children_of(4, 8, ForkOrder::tree), (List{6, 5}));
  EXPECT_EQ(children_of(2, 8, ForkOrder::tree), (List{3}));
  EXPECT_EQ(children_of(6, 8, ForkOrder::tree), (List{7}));
  for (const int leaf : {1, 3, 5, 7}) EXPECT_TRUE(children_of(leaf, 8, ForkOrder::tree).empty());
}

TEST(ChildrenOf, LetsTheFirstForkAllOthersInSerialOrder) {
  EXPECT_EQ(children_of(0, 4, ForkOrder::serial), (std::vector<int>{1, 2, 3}));
  for (int self = 1; self < 4; ++self) {
    EXPECT_TRUE(children_of(self, 4, ForkOrder::serial).empty());
  }
}

TEST(ChildrenOf, NamesEveryProcessOnceAndParentsBeforeTheirChildren) {
  for (const ForkOrder order : {ForkOrder::tree, ForkOrder::serial}) {
    for (int processes = 1; processes <= 130; ++processes) {
      std::vector<int> times_made(static_cast<std::size_t>(processes), 0);
      for (int self = 0; self < processes; ++self) {
        for (const int child : children_of(self, processes, order)) {
          ASSERT_GT(child, self);
          ASSERT_LT(child, processes);
          ++times_made[static_cast<std::size_t>(child)];
        }
      }
      EXPECT_EQ(times_made[0], 0);
      EXPECT_TRUE(
          std::all_of(times_made.begin() + 1, times_made.end(), [](int n) { return n == 1; }))
          << processes << " processes";
    }
  }
}

TEST(ChildrenOf, MakesAtMostTheLogarithmOfForksInATree) {
  for (int processes = 1; processes <= 1030; ++processes) {
    for (int self = 0; self < processes; ++self) {
      ASSERT_LE(children_of(self, processes, ForkOrder::tree).size(),
                static_cast<std::size_t>(ceil_log2(processes)));
    }
  }
}

TEST(ChildrenOf, ForksTheLargestSubtreeFirst) {
  const auto size_below = [](auto& self, int root, int processes) -> int {
    int size = 1;
    for (const int child : children_of(root, processes, ForkOrder::tree)) {
      size += self(self, child, processes);
    }
    return size;
  };
  for (const int processes : {2, 3, 5, 13, 64, 100}) {
    int before = processes;
    for (const int child : children_of(0, processes, ForkOrder::tree)) {
      const int size = size_below(size_below, child, processes);
      EXPECT_LE(size, before);
      before = size;
    }
  }
}

TEST(ChildrenOf, IsEmptyOutsideTheTeam) {
  EXPECT_TRUE(children_of(0, 1, ForkOrder::tree).empty());
  EXPECT_TRUE(children_of(-1, 4, ForkOrder::tree).empty());
  EXPECT_TRUE(children_of(4, 4, ForkOrder::serial).empty());
  EXPECT_TRUE(children_of(0, 0, ForkOrder::tree).empty());
}

TEST(ChildOf, GivesTheChildrenOneByOne) {
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, 0), 4);
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, 2), 1);
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, 3), -1);
  EXPECT_EQ(child_of(0, 8, ForkOrder::tree, -1), -1);
  EXPECT_EQ(child_of(0, 3, ForkOrder::serial, 1), 2);
  EXPECT_EQ(child_of(0, 3, ForkOrder::serial, 2), -1);
  EXPECT_EQ(child_of(1, 3, ForkOrder::serial, 0), -1);
}

TEST(ForkDepth, IsTheLogarithmWithTheCallerInATreeAndTheNumberInALoop) {
  EXPECT_EQ(fork_depth(0, ForkOrder::tree), 0);
  EXPECT_EQ(fork_depth(1, ForkOrder::tree), 1);
  EXPECT_EQ(fork_depth(2, ForkOrder::tree), 2);
  EXPECT_EQ(fork_depth(5, ForkOrder::tree), 3);
  EXPECT_EQ(fork_depth(8, ForkOrder::tree), 4);
  EXPECT_EQ(fork_depth(65535, ForkOrder::tree), 16);
  EXPECT_EQ(fork_depth(65536, ForkOrder::tree), 17);
  EXPECT_EQ(fork_depth(8, ForkOrder::serial), 8);
}

TEST(ForkDepth, IsWhatTheWalkedPlanNeeds) {
  for (const ForkOrder order : {ForkOrder::tree, ForkOrder::serial}) {
    for (int processes = 1; processes <= 70; ++processes) {
      EXPECT_EQ(fork_depth(processes, order), walk_depth(0, processes + 1, order)) << processes;
    }
  }
}

}  // namespace
}  // namespace tabane::team
