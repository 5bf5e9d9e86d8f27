#include "tabane/workloads/mp_matmul/solve.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/workloads/blas.h"
#include "tabane/workloads/mp_matmul/product.h"
#include "tabane/workloads/mp_matmul/verify.h"

namespace tabane::workloads::mp_matmul {
namespace {

enum Step { kProduct, kCollect };

// The block of a rank.
struct Block {
  Range rows, columns;
};

Range share(int size, int parts, int part) {
  const auto edge = [&](int at) { return static_cast<int>(static_cast<long>(size) * at / parts); };
  return {edge(part), edge(part + 1)};
}

Block block_of(const Operands& operands, const comm::Grid& grid, int rank) {
  return {share(operands.rows(), grid.rows(), rank / grid.columns()),
          share(operands.columns(), grid.columns(), rank % grid.columns())};
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

std::uint64_t common_seed(comm::Comm& comm) {
  std::uint64_t seed = 0;
  if (comm.rank() == 0) {
    std::random_device device;
    seed = (std::uint64_t{device()} << 32) ^ device();
  }
  comm::broadcast(comm, seed, 0);
  return seed;
}

class Run {
 public:
  Run(comm::Comm& comm, const Operands& operands, mpfr_prec_t bits, const SolveOptions& options)
      : operands_(operands),
        bits_(bits),
        options_(options),
        grid_(comm, options.grid),
        field_(common_seed(comm)),
        own_(block_of(operands, grid_, comm.rank())) {}

  Answer run() {
    comm::Comm& comm = grid_.all();
    answer_.solution.ranks = comm.size();
    answer_.solution.rows = grid_.rows();
    answer_.solution.columns = grid_.columns();
    if (options_.measure_limit) measure_limit();
    make_result();
    core::tick_clock();  // is calibrated at its first use, which takes some time
    comm::Steps steps(comm, {"product", "collecting"});
    comm::barrier(comm);
    {
      const auto in = steps.in(kProduct);
      multiply_block();
    }
    {
      const auto in = steps.in(kCollect);
      collect();
      comm::barrier(comm);
    }
    Solution& solution = answer_.solution;
    solution.steps = steps.gather();
    solution.seconds = seconds_of_slowest(solution.steps);
    solution.operations = static_cast<double>(operands_.rows()) * operands_.columns() *
                          operands_.terms() * (operands_.parts == 2 ? 4 : 1);
    comm.set_phase("check");
    if (options_.check && comm.rank() == 0) {
      solution.check = verify(operands_, target_of(answer_.c), field_, sums_);
    }
    return std::move(answer_);
  }

 private:
  void measure_limit() {
    grid_.all().set_phase("rate of matrix products");
    answer_.solution.limit = measure_product_rate(grid_.all());
    answer_.solution.limit_is = "DGEMM on all ranks";
  }

  void make_result() {
    if (grid_.all().rank() != 0) return;
    answer_.c = make_matrix(operands_.rows(), operands_.columns());
    sums_.resize(static_cast<std::size_t>(operands_.rows()));
  }

  ComplexMatrix make_matrix(int rows, int columns) const {
    return {Matrix(rows, columns, bits_),
            operands_.parts == 2 ? Matrix(rows, columns, bits_) : Matrix()};
  }

  Target target_of(ComplexMatrix& c) const {
    return {{&c.re, operands_.parts == 2 ? &c.im : nullptr}, options_.product.rounding};
  }

  // Rank 0's block is computed where it belongs.
  void multiply_block() {
    const Range terms{0, operands_.terms()};
    Operands part{{}, {}, operands_.parts};
    for (std::size_t p = 0; p < static_cast<std::size_t>(operands_.parts); ++p) {
      part.a[p] = operands_.a[p].part(own_.rows, terms);
      part.b[p] = operands_.b[p].part(terms, own_.columns);
    }
    const bool root = grid_.all().rank() == 0;
    if (!root) block_ = make_matrix(own_.rows.size(), own_.columns.size());
    Sketch sketch(field_, own_.rows.size(), own_.columns.first * operands_.parts,
                  options_.product.threads);
    Target target = target_of(root ? answer_.c : block_);
    if (root) {
      target.first_row = own_.rows.first;
      target.first_column = own_.columns.first;
    }
    if (options_.check) target.sketch = &sketch;
    multiply_operands(part, target, options_.product, answer_.cost);
    own_sums_ = sketch.rows();
  }

  // Rank 0 puts the blocks of all together, and adds up their sketches.
  void collect() {
    comm::Comm& comm = grid_.all();
    const Range rows{0, own_.rows.size()}, columns{0, own_.columns.size()};
    if (comm.rank() != 0) {
      comm.send(0, block_.re.pack(rows, columns));
      if (operands_.parts == 2) comm.send(0, block_.im.pack(rows, columns));
      comm.send(0, own_sums_);
      return;
    }
    for (int rank = 0; rank < comm.size(); ++rank) {
      const Block block = block_of(operands_, grid_, rank);
      const auto take = [&](Matrix& c) {
        c.unpack(block.rows, block.columns, comm.recv_view<std::uint64_t>(rank).values());
      };
      if (rank != 0) take(answer_.c.re);
      if (rank != 0 && operands_.parts == 2) take(answer_.c.im);
      std::vector<std::uint64_t> sums = own_sums_;
      if (rank != 0) {
        sums.resize(static_cast<std::size_t>(block.rows.size()));
        comm.recv(rank, sums);
      }
      for (std::size_t i = 0; i < sums.size(); ++i) {
        std::uint64_t& sum = sums_[static_cast<std::size_t>(block.rows.first) + i];
        sum = field_.add(sum, sums[i]);
      }
    }
  }

  Operands operands_;
  mpfr_prec_t bits_;
  const SolveOptions& options_;
  comm::Grid grid_;
  PrimeField field_;
  Block own_;
  Answer answer_;
  ComplexMatrix block_;
  std::vector<std::uint64_t> own_sums_, sums_;  // of the block; on rank 0 of all rows
};

}  // namespace

Answer solve(comm::Comm& comm, const Matrix& a, const Matrix& b, mpfr_prec_t bits,
             const SolveOptions& options) {
  return Run(comm, operands_of(a, b), bits, options).run();
}

Answer solve(comm::Comm& comm, const ComplexMatrix& a, const ComplexMatrix& b, mpfr_prec_t bits,
             const SolveOptions& options) {
  return Run(comm, operands_of(a, b), bits, options).run();
}

}  // namespace tabane::workloads::mp_matmul
