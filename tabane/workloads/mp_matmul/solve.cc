#include "tabane/workloads/mp_matmul/solve.h"

#include <algorithm>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/workloads/mp_matmul/problem.h"

namespace tabane::workloads::mp_matmul {
namespace {

enum Step { kProduct, kCollect };

Range share(int size, int parts, int part) {
  const auto edge = [&](int at) { return static_cast<int>(static_cast<long>(size) * at / parts); };
  return {edge(part), edge(part + 1)};
}

double seconds_of_slowest(const comm::StepTable& steps) {
  double most = 0;
  for (const auto& rank : steps.ranks) {
    double sum = 0;
    for (const comm::StepTime& step : rank) sum += step.seconds;
    most = std::max(most, sum);
  }
  return most;
}

// Rank 0 puts the blocks of all into c.
void collect(comm::Grid& grid, const Matrix& block, Matrix& c) {
  comm::Comm& comm = grid.all();
  if (comm.rank() != 0) {
    comm.send(0, block.pack({0, block.rows()}, {0, block.columns()}));
    return;
  }
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Range rows = share(c.rows(), grid.rows(), rank / grid.columns());
    const Range columns = share(c.columns(), grid.columns(), rank % grid.columns());
    if (rank == 0) {
      c.unpack(rows, columns, block.pack({0, block.rows()}, {0, block.columns()}));
    } else {
      c.unpack(rows, columns, comm.recv_view<std::uint64_t>(rank).values());
    }
  }
}

}  // namespace

Answer solve(comm::Comm& comm, const Matrix& a, const Matrix& b, mpfr_prec_t bits,
             const SolveOptions& options) {
  require_product(a, b);
  comm::Grid grid(comm, options.grid);
  Answer answer;
  answer.solution = {.ranks = comm.size(), .rows = grid.rows(), .columns = grid.columns()};
  const Range rows = share(a.rows(), grid.rows(), grid.my_row());
  const Range columns = share(b.columns(), grid.columns(), grid.my_column());
  const Range terms{0, a.columns()};
  if (comm.rank() == 0) answer.c.re = Matrix(a.rows(), b.columns(), bits);
  comm::Steps steps(comm, {"product", "collecting"});
  comm::barrier(comm);
  Matrix block;
  {
    const auto in = steps.in(kProduct);
    block =
        multiply(a.part(rows, terms), b.part(terms, columns), bits, options.product, &answer.cost);
  }
  {
    const auto in = steps.in(kCollect);
    collect(grid, block, answer.c.re);
    comm::barrier(comm);
  }
  answer.solution.steps = steps.gather();
  answer.solution.seconds = seconds_of_slowest(answer.solution.steps);
  answer.solution.operations = static_cast<double>(a.rows()) * b.columns() * a.columns();
  return answer;
}

}  // namespace tabane::workloads::mp_matmul
