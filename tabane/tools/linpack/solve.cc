#include "tabane/tools/linpack/solve.h"

#include <algorithm>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"
#include "tabane/tools/linpack/accuracy.h"
#include "tabane/tools/linpack/factors.h"
#include "tabane/tools/linpack/model.h"
#include "tabane/tools/linpack/problem.h"
#include "tabane/tools/linpack/substitution.h"
#include "tabane/tools/linpack/verify.h"

namespace tabane::linpack {
namespace {

// And solves a small system, so that the ranks have code and buffers at hand when the clock starts.
void measure_limit(comm::Grid& grid, Answer& answer) {
  comm::Comm& comm = grid.all();
  comm.set_phase("rate of matrix products");
  const int rounds = answer.n < 500 ? 3 : 8;  // not for much longer than the solution takes
  answer.solution.limit = solver::measure_product_rate(comm, 768, rounds);
  answer.solution.limit_is = "DGEMM on all ranks";
  constexpr int kSmall = 400;
  solve(comm, RandomSystem(std::min(answer.n, kSmall), 1),
        {.block = answer.block, .grid = {grid.rows(), grid.columns()}});
}

}  // namespace

Answer solve(comm::Comm& comm, const System& system, const Options& options) {
  comm::Grid grid(comm, options.grid);
  Answer answer{.n = system.n(),
                .block = options.block > 0
                             ? options.block
                             : default_block(system.n(), {grid.rows(), grid.columns()})};
  solver::Solution& solution = answer.solution;
  solution = {.ranks = comm.size(), .rows = grid.rows(), .columns = grid.columns()};
  if (options.measure_limit) measure_limit(grid, answer);
  const Layout layout(grid, answer.n, answer.block);
  comm.set_phase("filling of the matrix");
  LocalMatrix matrix(layout, system);
  Panels panels{Panel(layout), Panel(layout)};
  comm::Steps steps = make_steps(comm);
  comm::barrier(comm);
  const Eliminated done = eliminate_all(grid, layout, matrix, panels, steps, options.elimination);
  answer.defect = done.defect;
  std::vector<double> x;
  if (answer.defect < 0) x = substitute(grid, layout, matrix, steps);
  {
    const auto in = steps.in(kWaiting);
    comm::barrier(comm);
  }
  solution.steps = steps.gather();
  solution.seconds = solution.steps.seconds_of_slowest();
  solution.operations = operations(answer.n);
  if (answer.defect >= 0) return answer;
  comm.set_phase("check");
  const Verified verified = verify(grid, layout, system, x);
  solution.check = verified.check;
  Factors factors(grid, layout, matrix, done.pivots);
  answer.error = estimate_error(factors, x, verified.doubt);
  if (comm.rank() == 0) answer.x = std::move(x);
  return answer;
}

}  // namespace tabane::linpack
