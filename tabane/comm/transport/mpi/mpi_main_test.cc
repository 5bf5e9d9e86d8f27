// Under an MPI launcher: each rank runs all tests, in the same order. The job fails if one fails on
// any rank; what fails is printed with its rank, and the rest by rank 0 only.
#include <gtest/gtest.h>

#include <cstdio>

#include "tabane/comm/collectives.h"
#include "tabane/comm/runners_test.h"

namespace tabane::comm {
namespace {

class FailuresWithRank : public testing::EmptyTestEventListener {
 public:
  explicit FailuresWithRank(int rank) : rank_(rank) {}
  void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d, %s.%s: %s\n", rank_, test_->test_suite_name(), test_->name(),
                 result.message());
  }

 private:
  int rank_;
  const testing::TestInfo* test_ = nullptr;
};

// Others wait for a rank that aborts, and may do so for ever: the launcher ends them.
TEST(MpiJob, DISABLED_EndsWithTheCodeOfWhoAborts) {
  run_all_of_mpi([](Comm& world) {
    barrier(world);
    if (world.rank() == world.size() - 1) world.abort(42);
    if (world.rank() == 0) world.recv<int>(any_source);
    for (volatile bool for_ever = true; for_ever;) continue;
  });
}

}  // namespace
}  // namespace tabane::comm

int main(int argc, char** argv) {
  using namespace tabane::comm;
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(fail_fast, true);  // a rank that has failed leaves the others' calls
  int rank = 0;
  run_all_of_mpi([&](Comm& world) {
    rank = world.rank();
    if (rank == 0) std::printf("On %d ranks:\n", world.size());
  });
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new FailuresWithRank(rank));
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  const int failed = RUN_ALL_TESTS();
  if (!failed) run_all_of_mpi([](Comm&) {});  // so that MPI ends well
  return failed;
}
