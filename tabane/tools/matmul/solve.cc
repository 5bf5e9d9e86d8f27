#include "tabane/tools/matmul/solve.h"

#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/tools/matmul/elements.h"
#include "tabane/tools/matmul/plan.h"
#include "tabane/tools/matmul/residue_product.h"

namespace tabane::matmul {
namespace {

enum TimedStep { kProduct, kCollect };

// The block of a rank.
struct RankBlock {
  IndexRange rows, columns;
};

// By a model of random numbers.
bool primes_are_cheaper(const Operands& operands, comm::Grid& grid) {
  constexpr std::int64_t kMore = 20;  // bits of a row than of its numbers
  const Extent extent{static_cast<double>(operands.rows()), static_cast<double>(operands.columns()),
                      static_cast<double>(operands.terms())};
  const std::int64_t a = operands.bits_of(operands.a) + kMore,
                     b = operands.bits_of(operands.b) + kMore;
  return spread_primes_ns(extent, a, b, operands.parts, grid.all().size()) <
         blocks_ns(extent, a, b, operands.parts, grid.rows(), grid.columns());
}

bool shares_primes(const Operands& operands, comm::Grid& grid, const SolveOptions& options) {
  if (grid.all().size() == 1) return false;
  if (options.shares != Shares::automatic) return options.shares == Shares::primes;
  return options.grid.rows == 0 && primes_are_cheaper(operands, grid);
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

class Multiplication {
 public:
  Multiplication(comm::Comm& comm, const Operands& operands, mpfr_prec_t bits,
                 const SolveOptions& options)
      : operands_(operands),
        bits_(bits),
        options_(options),
        grid_(comm, options.grid),
        field_(common_seed(comm)),
        memory_(options.product.memory > 0 ? options.product.memory
                                           : comm::usable_memory_of_all(comm) / 2 / comm.size()) {
    if (shares_primes(operands, grid_, options)) spread_.emplace(comm, operands.rows());
    own_ = block_of(comm.rank());
  }

  MatrixProduct run() {
    comm::Comm& comm = grid_.all();
    answer_.solution.ranks = comm.size();
    answer_.solution.rows = spread_ ? comm.size() : grid_.rows();
    answer_.solution.columns = spread_ ? 1 : grid_.columns();
    answer_.primes_are_shared = spread_.has_value();
    if (options_.measure_limit) measure_limit();
    make_result();
    core::tick_clock();  // is calibrated at its first use, which takes some time
    comm::Steps steps(comm, {"product", "collecting"});
    comm::barrier(comm);
    steps.in(kProduct, [&] { multiply_block(); });
    steps.in(kCollect, [&] {
      collect();
      comm::barrier(comm);
    });
    solver::Solution& solution = answer_.solution;
    solution.steps = steps.gather();
    solution.seconds = solution.steps.seconds_of_slowest();
    solution.operations = static_cast<double>(operands_.rows()) * operands_.columns() *
                          operands_.terms() * (operands_.parts == 2 ? 4 : 1);
    comm.set_phase("check");
    if (comm.rank() == 0) {
      solution.check = verify(operands_, target_of(answer_.c), field_, sums_);
    }
    return std::move(answer_);
  }

 private:
  RankBlock block_of(int rank) const {
    if (spread_) return {spread_->rows_of(rank), {0, operands_.columns()}};
    return {share(operands_.rows(), grid_.rows(), rank / grid_.columns()),
            share(operands_.columns(), grid_.columns(), rank % grid_.columns())};
  }

  void measure_limit() {
    comm::Comm& comm = grid_.all();
    if (comm.transport().crowded()) return;
    comm.set_phase("rate of matrix products");
    const double products =
        static_cast<double>(operands_.rows()) * operands_.columns() * operands_.terms();
    // Not for much longer than the product takes.
    answer_.solution.limit = products < 1e7 ? solver::measure_product_rate(comm, 384, 3)
                                            : solver::measure_product_rate(comm);
    answer_.solution.limit_is = "DGEMM on all ranks";
  }

  void make_result() {
    if (grid_.all().rank() != 0) return;
    answer_.c = make_matrix(operands_.rows(), operands_.columns());
    sums_.resize(operands_.rows());
  }

  ComplexMatrix make_matrix(int rows, int columns) const {
    return {Matrix(rows, columns, bits_),
            operands_.parts == 2 ? Matrix(rows, columns, bits_) : Matrix()};
  }

  Target target_of(ComplexMatrix& c) const {
    return {{&c.re, operands_.parts == 2 ? &c.im : nullptr}, options_.product.rounding};
  }

  // Returns what this rank multiplies: a block's rows and columns, or all of them.
  Operands own_operands() const {
    Operands part{{}, {}, operands_.parts};
    for (std::size_t p = 0; p < static_cast<std::size_t>(operands_.parts); ++p) {
      const IndexRange terms{0, operands_.terms()};
      part.a[p] = spread_ ? operands_.a[p] : operands_.a[p].part(own_.rows, terms);
      part.b[p] = operands_.b[p].part(terms, own_.columns);
    }
    return part;
  }

  // Rank 0's block is computed where it belongs.
  void multiply_block() {
    const Operands part = own_operands();
    const bool root = grid_.all().rank() == 0;
    if (!root) block_ = make_matrix(own_.rows.size(), own_.columns.size());
    Sketch sketch(field_, part.rows(), own_.columns.first * operands_.parts,
                  options_.product.threads);
    Target target = target_of(root ? answer_.c : block_);
    if (root && !spread_) target.first_row = own_.rows.first;
    if (!root && spread_) target.first_row = -own_.rows.first;
    if (root) target.first_column = own_.columns.first;
    target.sketch = &sketch;
    ProductOptions product = options_.product;
    product.memory = memory_;
    multiply_operands(part, target, product, answer_.cost, spread_ ? &*spread_ : nullptr);
    own_sums_ = sketch.rows();
    if (!spread_) return;
    own_sums_.resize(own_.rows.end);
    own_sums_.erase(own_sums_.begin(), own_sums_.begin() + own_.rows.first);
  }

  // Rank 0 puts the blocks of all together, and adds up their sketches.
  void collect() {
    comm::Comm& comm = grid_.all();
    const IndexRange rows{0, own_.rows.size()}, columns{0, own_.columns.size()};
    if (comm.rank() != 0) {
      comm.send(0, block_.re.pack(rows, columns));
      if (operands_.parts == 2) comm.send(0, block_.im.pack(rows, columns));
      comm.send(0, own_sums_);
      return;
    }
    for (int rank = 0; rank < comm.size(); ++rank) {
      const RankBlock block = block_of(rank);
      const auto take = [&](Matrix& c) {
        c.unpack(block.rows, block.columns, comm.recv_view<std::uint64_t>(rank).values());
      };
      if (rank != 0) take(answer_.c.re);
      if (rank != 0 && operands_.parts == 2) take(answer_.c.im);
      std::vector<std::uint64_t> sums = own_sums_;
      if (rank != 0) {
        sums.resize(block.rows.size());
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
  double memory_;
  std::optional<PrimeSpread> spread_;  // if the primes are shared out
  RankBlock own_;
  MatrixProduct answer_;
  ComplexMatrix block_;
  std::vector<std::uint64_t> own_sums_, sums_;  // of the block; on rank 0 of all rows
};

}  // namespace

MatrixProduct solve(comm::Comm& comm, const Matrix& a, const Matrix& b, mpfr_prec_t bits,
                    const SolveOptions& options) {
  return Multiplication(comm, operands_of(a, b), bits, options).run();
}

MatrixProduct solve(comm::Comm& comm, const ComplexMatrix& a, const ComplexMatrix& b,
                    mpfr_prec_t bits, const SolveOptions& options) {
  return Multiplication(comm, operands_of(a, b), bits, options).run();
}

}  // namespace tabane::matmul
