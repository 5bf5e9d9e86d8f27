#include "tabane/comm/collectives.h"

#include <gtest/gtest.h>

#include "tabane/comm/launch.h"

namespace tabane::comm {
namespace {

// Other programs take and give back memory meanwhile, so only about.
TEST(UsableMemory, OfTheRanksOfOneMachineIsThatOfTheMachine) {
  const double before = usable_memory();
  comm::launch({.ranks = 3, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
    const double all = usable_memory_of_all(comm);
    EXPECT_EQ(all, comm::all_reduce(comm, all, comm::Operation::max));
    EXPECT_GT(all, before / 2);
    EXPECT_LT(all, before * 2);
    if (::testing::Test::HasFailure()) throw std::runtime_error("see above");
  });
}

}  // namespace
}  // namespace tabane::comm
