#include "tabane/solver/blas.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace tabane::solver {
namespace {

TEST(Blas, AddsAProductOfMatricesStoredByColumns) {
  const std::array<double, 4> a{1, 2, 3, 4};  // 1 3; 2 4
  const std::array<double, 4> b{5, 6, 7, 8};  // 5 7; 6 8
  std::array<double, 4> c{100, 100, 100, 100};
  add_product(CblasNoTrans, CblasNoTrans, 2, 2, 2, -1, a.data(), 2, b.data(), 2, c.data(), 2);
  EXPECT_EQ(c, (std::array<double, 4>{77, 66, 69, 54}));
}

TEST(Blas, KeepsToOneThread) { EXPECT_EQ(openblas_get_num_threads(), 1); }

// Small products, so that the threads ask for memory most of the time. Without a lock some ten
// thousand of the elements are wrong.
TEST(BlasMemory, IsOneThreadsAtATime) {
  constexpr int kSize = 24, kRounds = 60000, kThreads = 4;
  std::vector<int> wrong(kThreads);
  const auto multiply = [&](int thread) {
    const double value = thread + 1;
    const std::vector<double> a(kSize * kSize, value);
    std::vector<double> c(kSize * kSize);
    for (int round = 0; round < kRounds; ++round) {
      {
        const auto alone = alone_in_blas();
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, kSize, kSize, 1, a.data(), kSize, 0,
                    c.data(), kSize);
      }
      for (int j = 0; j < kSize; ++j) {
        for (int i = j; i < kSize; ++i) {
          const double x = c[static_cast<std::size_t>(j * kSize + i)];
          wrong[thread] += x != kSize * value * value ? 1 : 0;
        }
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(multiply, thread);
  }
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
}

TEST(BlasMemory, IsLockedWhereOpenBlasIsShared) { EXPECT_TRUE(blas_memory_is_locked()); }

}  // namespace
}  // namespace tabane::solver
