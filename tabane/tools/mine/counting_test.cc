#include "tabane/tools/mine/counting.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/tools/mine/small_database_test.h"

namespace tabane::mine {
namespace {

TEST(ProductCache, HalveTheDepth) {
  EXPECT_EQ(first_factor_length(2), 1);
  EXPECT_EQ(first_factor_length(3), 2);
  EXPECT_EQ(first_factor_length(4), 2);
  EXPECT_EQ(first_factor_length(5), 4);
  EXPECT_EQ(first_factor_length(8), 4);
  for (std::size_t length = 2; length <= 8; ++length) {
    const std::size_t first = first_factor_length(length);
    EXPECT_EQ(depth_of(length), 1 + std::max(depth_of(first), depth_of(length - first)));
  }
}

TEST(Tasks, CoverEachCandidateInEachBlockOnce) {
  for (std::size_t length = 1; length <= 4; ++length) {
    const Itemsets candidates = all_of(7, length);
    for (const std::size_t blocks : {1, 3, 7, 8, 9, 100}) {
      for (const std::size_t wanted : {1, 3, 64, 1000}) {
        std::vector<int> covered(candidates.size() * blocks);
        for (const CountTask& task : plan_tasks(candidates, blocks, wanted)) {
          EXPECT_GT(task.candidates(), 0);
          EXPECT_GT(task.blocks(), 0);
          for (std::size_t i = task.candidate_begin; i < task.candidate_end; ++i) {
            for (std::size_t b = task.block_begin; b < task.block_end; ++b) {
              ++covered[i * blocks + b];
            }
          }
        }
        EXPECT_EQ(std::ranges::count(covered, 1), covered.size());
      }
    }
  }
}

TEST(Tasks, AreCutByBlocksFirst) {
  for (const CountTask& task : plan_tasks(all_of(18, 2), 475, 64)) {
    EXPECT_EQ(task.candidates(), 153);
    EXPECT_GE(task.blocks(), 7);
  }
  EXPECT_EQ(plan_tasks(all_of(18, 2), 475, 64).size(), 64);
  EXPECT_EQ(plan_tasks(all_of(18, 2), 1, 51).size(), 51);
}

TEST(Tasks, KeepACommonFirstFactorTogether) {
  const Itemsets triples = all_of(5, 3);  // 012 013 014 | 023 024 | 034 | 123 124 | 134 | 234
  EXPECT_EQ(end_of_batch(triples, 0, 4), 3);
  EXPECT_EQ(end_of_batch(triples, 0, 5), 5);
  EXPECT_EQ(end_of_batch(triples, 0, 2), 2);
  EXPECT_EQ(end_of_batch(triples, 6, 100), 10);
}

}  // namespace
}  // namespace tabane::mine
