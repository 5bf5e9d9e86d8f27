#include "tabane/solver/solution.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tabane/comm/launch.h"

namespace tabane::solver {
namespace {

TEST(ProductRate, IsTheSameOnAllRanks) {
  comm::launch({.ranks = 2, .transport = comm::TransportKind::shm}, [](comm::Comm& comm) {
    const double rate = measure_product_rate(comm, 32, 2);
    EXPECT_GT(rate, 0);
    if (comm.rank() == 0) comm.send(1, rate);
    if (comm.rank() == 1 && comm.recv<double>(0) != rate) throw std::runtime_error("differs");
  });
}

}  // namespace
}  // namespace tabane::solver
