#include "tabane/solver/blas.h"

#include <gtest/gtest.h>

#include <array>

#include "tabane/comm/launch.h"

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
