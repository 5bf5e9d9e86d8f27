#include "tabane/tools/linpack/factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/tools/linpack/elimination.h"

namespace tabane::linpack {
namespace {

// A x or A^T x.
std::vector<double> times(const System& a, const std::vector<double>& x, bool transposed) {
  std::vector<double> product(x.size()), column(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    a.read(static_cast<int>(j), 0, column);
    for (std::size_t i = 0; i < x.size(); ++i) {
      product[transposed ? j : i] += column[i] * x[transposed ? i : j];
    }
  }
  return product;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b,
                 const std::string& where) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-8)) throw core::Error(where);
  }
}

TEST(Factors, SolveWithAAndItsTransposeOnAllGrids) {
  for (const comm::GridShape grid : {comm::GridShape{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 3}}) {
    const comm::LaunchOptions ranks{.ranks = grid.rows * grid.columns,
                                    .transport = comm::TransportKind::shm};
    comm::launch(ranks, [&](comm::Comm& comm) {
      comm::Grid own(comm, grid);
      for (const int n : {1, 2, 5, 17, 40, 65}) {
        for (const int block : {1, 3, 8, 40}) {
          for (const bool look_ahead : {true, false}) {
            const RandomSystem system(n, static_cast<std::uint64_t>(n + block));
            const Layout layout(own, n, block);
            LocalMatrix matrix(layout, system);
            Panels panels{Panel(layout), Panel(layout)};
            comm::Steps steps = make_steps(comm);
            const Eliminated done =
                eliminate_all(own, layout, matrix, panels, steps, {.look_ahead = look_ahead});
            Factors factors(own, layout, matrix, done.pivots);
            std::vector<double> due(static_cast<std::size_t>(n));
            RandomSystem(n, 7).read(0, 0, due);
            const std::string where = "n " + std::to_string(n) + ", " + std::to_string(block);
            std::vector<double> x = times(system, due, false);
            factors.solve(x);
            expect_near(x, due, where);
            x = times(system, due, true);
            factors.solve_transposed(x);
            expect_near(x, due, where + ", transposed");
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace tabane::linpack
