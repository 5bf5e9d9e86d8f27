#include "tabane/studies/pc_cluster/mpfr_operations.h"

#include <gtest/gtest.h>

#include "tabane/core/topology.h"

namespace tabane::lab {
namespace {

TEST(MpfrOperations, TakeLongerWithMoreBits) {
  const core::Topology topology = core::Topology::detect();
  core::PinnedPool pool(topology.pu_os_indices());
  for (std::size_t operation = 0; operation < mpfr_operations().size(); ++operation) {
    const double few = mpfr_seconds(pool, 1, operation, 64, 1e-4);
    const double many = mpfr_seconds(pool, 1, operation, 65536, 1e-4);
    EXPECT_GT(few, 0);
    EXPECT_GT(many, 10 * few) << mpfr_operations()[operation].name;
  }
  EXPECT_GT(mpfr_seconds(pool, pool.size(), 0, 512, 1e-4), 0);
}

}  // namespace
}  // namespace tabane::lab
