#include "tabane/tools/matmul/solve.h"

#include <gtest/gtest.h>

#include "tabane/comm/launch.h"
#include "tabane/tools/matmul/matrices_test.h"
#include "tabane/tools/matmul/matrix.h"

namespace tabane::matmul {
namespace {

struct Shape {
  int rows, columns;
};

TEST(MpSolve, GivesTheSameBitsOnAnyGrid) {
  const Matrix a = random_matrix(31, 20, 150, 2), b = random_matrix(20, 27, 150, 3);
  const Matrix expected = by_integers_of_gmp(a, b, 150, MPFR_RNDD);
  for (const Shape shape : {Shape{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 5}}) {
    for (const Method method : {Method::residues, Method::integers}) {
      comm::launch({.ranks = shape.rows * shape.columns}, [&](comm::Comm& comm) {
        const SolveOptions options{
            .product = {.rounding = MPFR_RNDD, .threads = 2, .method = method},
            .grid = {shape.rows, shape.columns}};
        const MatrixProduct answer = solve(comm, a, b, 150, options);
        if (comm.rank() != 0) return;
        EXPECT_TRUE(answer.c.re == expected);
        EXPECT_TRUE(answer.solution.check.passed());
        EXPECT_EQ(answer.solution.operations, 31 * 20 * 27);
        if (!(answer.c.re == expected)) throw std::runtime_error("wrong");
      });
    }
  }
}

// Sharing out primes among more ranks than there are, too, with little memory, and with rows that
// are computed apart.
TEST(MpSolve, GivesTheSameBitsFromSharedPrimes) {
  Matrix a = random_matrix(31, 20, 150, 2), b = random_matrix(20, 27, 150, 3);
  mpfr_mul_2si(a.at(7, 5), a.at(7, 5), -40000, MPFR_RNDN);
  const Matrix expected = by_integers_of_gmp(a, b, 150, MPFR_RNDD);
  for (const int ranks : {2, 3, 5}) {
    for (const double memory : {1e9, 40e3}) {
      for (const Method method : {Method::residues, Method::integers, Method::automatic}) {
        comm::launch({.ranks = ranks}, [&](comm::Comm& comm) {
          const MatrixProduct answer = solve(
              comm, a, b, 150,
              {.product = {.rounding = MPFR_RNDD, .threads = 2, .memory = memory, .method = method},
               .shares = Shares::primes});
          if (comm.rank() != 0) return;
          if (!(answer.c.re == expected) || !answer.solution.check.passed() ||
              !answer.primes_are_shared) {
            throw std::runtime_error("wrong");
          }
        });
      }
    }
  }
}

TEST(MpSolve, SharesPrimesWhereNumbersHaveManyBits) {
  const Matrix few = random_matrix(40, 40, 100, 2), many = random_matrix(40, 40, 8000, 2);
  comm::launch({.ranks = 4}, [&](comm::Comm& comm) {
    if (solve(comm, few, few, 100).primes_are_shared ||
        !solve(comm, many, many, 8000).primes_are_shared ||
        solve(comm, many, many, 8000, {.grid = {2, 2}}).primes_are_shared) {
      throw std::runtime_error("another choice");
    }
  });
}

TEST(MpSolve, GivesComplexProductsAndThoseOfNextToNothing) {
  const ComplexMatrix a{test_matrix(9, 8, 70, 3, 1), test_matrix(9, 8, 70, 3, 2)};
  const ComplexMatrix b{test_matrix(8, 7, 70, 3, 3), test_matrix(8, 7, 70, 3, 4)};
  const ComplexMatrix expected = multiply(a, b, 70, {.method = Method::sums});
  const Matrix none(0, 3, 70), some(3, 1, 70);
  comm::launch({.ranks = 4}, [&](comm::Comm& comm) {
    for (const Shares shares : {Shares::blocks, Shares::primes}) {
      const MatrixProduct answer =
          solve(comm, a, b, 70, {.product = {.method = Method::residues}, .shares = shares});
      if (comm.rank() == 0 && (!(answer.c.re == expected.re) || !(answer.c.im == expected.im) ||
                               !answer.solution.check.passed())) {
        throw std::runtime_error("wrong");
      }
    }
    const MatrixProduct empty = solve(comm, none, some, 70);
    if (comm.rank() != 0) return;
    if (!empty.solution.check.passed() || empty.c.re.columns() != 1) {
      throw std::runtime_error("wrong");
    }
  });
}

}  // namespace
}  // namespace tabane::matmul
