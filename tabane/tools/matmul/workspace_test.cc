#include "tabane/tools/matmul/workspace.h"

#include <gtest/gtest.h>

#include "tabane/core/units.h"
#include "tabane/tools/matmul/matrix.h"
#include "tabane/tools/matmul/multiply.h"

namespace tabane::matmul {
namespace {

using core::kMiB;

TEST(MpWorkspace, GivesTheSmallestThatFitsAndReplacesTheLargestThatDoesNot) {
  Workspace workspace;
  core::Region small = workspace.take(2 * kMiB), large = workspace.take(8 * kMiB);
  const std::byte *const at_small = small.data(), *const at_large = large.data();
  workspace.give(std::move(large));
  workspace.give(std::move(small));
  EXPECT_EQ(workspace.take(kMiB).data(), at_small);  // and is freed here
  core::Region larger = workspace.take(16 * kMiB);   // in the place of the one of 8 MiB
  EXPECT_NE(larger.data(), at_large);
  workspace.give(std::move(larger));
  EXPECT_GE(workspace.take(8 * kMiB).size(), 16 * kMiB);
}

TEST(MpWorkspace, ServesProductsOfManySizes) {
  Workspace workspace;
  for (const int n : {300, 80, 200, 300}) {
    const Matrix a = random_matrix(n, n, 300, 2), b = random_matrix(n, n, 300, 3);
    const Matrix expected = multiply(a, b, 300);
    EXPECT_TRUE(multiply(a, b, 300, {.workspace = &workspace}) == expected) << n;
  }
}

}  // namespace
}  // namespace tabane::matmul
