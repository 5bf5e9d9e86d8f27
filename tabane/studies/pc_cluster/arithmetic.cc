// What the study pc-cluster computes: matrix products in double precision, operations of MPFR, and
// the loop of these that is the report's parallel product.
#include <mpfr.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <numbers>
#include <random>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/solver/blas.h"
#include "tabane/studies/pc_cluster/pc_cluster.h"

namespace tabane::lab {
namespace {

// Seconds of a call, from as many as take a millisecond: the shorter of two series, so that having
// to wait does not pass for long work.
double seconds_of_call(auto f) {
  const auto seconds_of = [&](std::uint64_t calls) {
    const double begin = core::tick_clock().now();
    for (std::uint64_t i = 0; i < calls; ++i) f();
    return core::tick_clock().now() - begin;
  };
  for (std::uint64_t calls = 1;; calls *= 4) {
    const double seconds = std::min(seconds_of(calls), seconds_of(calls));
    if (seconds > 1e-3) return seconds / static_cast<double>(calls);
  }
}

}  // namespace

MatrixProducts::MatrixProducts(int most)
    : a_(static_cast<std::size_t>(most) * static_cast<std::size_t>(most)),
      b_(a_.size()),
      c_(a_.size()) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  for (double& x : a_) x = std::numbers::sqrt2 * uniform(random);
  for (double& x : b_) x = std::numbers::sqrt3 * uniform(random);
}

double MatrixProducts::dgemm_seconds(int n) {
  return seconds_of_call([&] {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a_.data(), n, b_.data(), n,
                0, c_.data(), n);
  });
}

double MatrixProducts::triple_loop_seconds(int size) {
  const auto n = static_cast<std::size_t>(size);
  const std::size_t rows = std::min(n, 1 + 20'000'000 / (n * n));
  const double seconds = seconds_of_call([&] {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += a_[i * n + k] * b_[k * n + j];
        c_[i * n + j] = sum;
      }
    }
  });
  return seconds * static_cast<double>(n) / static_cast<double>(rows);
}

namespace {

// What one thread works on.
class MpfrNumbers {
 public:
  explicit MpfrNumbers(long bits) {
    mpfr_inits2(bits, x_, y_, z_, nullptr);
    mpfr_sqrt_ui(x_, 3, MPFR_RNDN);
    mpfr_sub_ui(x_, x_, 1, MPFR_RNDN);
    mpfr_sqrt_ui(y_, 5, MPFR_RNDN);
  }
  ~MpfrNumbers() { mpfr_clears(x_, y_, z_, nullptr); }
  MpfrNumbers(const MpfrNumbers&) = delete;
  MpfrNumbers& operator=(const MpfrNumbers&) = delete;

  void run(std::size_t operation, std::uint64_t iterations) {
    static constexpr int (*kFunctions[])(mpfr_ptr, mpfr_srcptr, mpfr_srcptr) = {
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y) { return mpfr_mul(z, x, y, MPFR_RNDN); },
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y) { return mpfr_div(z, x, y, MPFR_RNDN); },
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr) { return mpfr_sqrt(z, x, MPFR_RNDN); },
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr) { return mpfr_exp(z, x, MPFR_RNDN); }};
    for (std::uint64_t i = 0; i < iterations; ++i) kFunctions[operation](z_, x_, y_);
  }

 private:
  mpfr_t x_, y_, z_;
};

}  // namespace

const std::vector<MpfrOperation>& mpfr_operations() {
  static const std::vector<MpfrOperation> all = {
      {"multiply", "x y"}, {"divide", "x / y"}, {"sqrt", "square root of x"}, {"exp", "exp x"}};
  return all;
}

double mpfr_seconds(core::PinnedPool& pool, std::size_t threads, std::size_t operation, long bits,
                    double seconds) {
  std::deque<MpfrNumbers> operands;
  for (std::size_t i = 0; i < threads; ++i) operands.emplace_back(bits);
  for (std::uint64_t iterations = 1;;) {
    const auto work = [&](std::size_t i) { operands[i].run(operation, iterations); };
    // The shorter of two: a thread that had to wait must not pass for a long operation.
    const double taken = std::min(core::time_together(pool, threads, work).seconds,
                                  core::time_together(pool, threads, work).seconds);
    if (taken >= seconds) {
      pool.run([](std::size_t) { mpfr_free_cache(); });  // each thread has constants of its own
      return taken / static_cast<double>(iterations) / static_cast<double>(threads);
    }
    const double factor = std::clamp(1.2 * seconds / std::max(taken, 1e-9), 2.0, 1000.0);
    iterations = static_cast<std::uint64_t>(static_cast<double>(iterations) * factor);
  }
}

matmul::Matrix loop_product(comm::Comm& comm, const matmul::Matrix& a, const matmul::Matrix& b,
                            double* seconds) {
  const auto first_of = [&](int rank) { return a.rows() * rank / comm.size(); };
  const auto rows_of = [&](int rank) {
    return matmul::IndexRange{first_of(rank), first_of(rank + 1)};
  };
  const matmul::IndexRange columns{0, b.columns()}, mine = rows_of(comm.rank());
  matmul::Matrix c(a.rows(), b.columns(), a.bits()), product(1, 1, a.bits());
  comm::barrier(comm);
  const double begin = core::tick_clock().now();
  for (int i = mine.first; i < mine.end; ++i) {
    for (int j = 0; j < columns.end; ++j) {
      for (int k = 0; k < a.columns(); ++k) {
        mpfr_mul(product.at(0, 0), a.at(i, k), b.at(k, j), MPFR_RNDN);
        mpfr_add(c.at(i, j), c.at(i, j), product.at(0, 0), MPFR_RNDN);
      }
    }
  }
  if (comm.rank() != 0) {
    comm.send(0, c.pack(mine, columns));
  } else {
    for (int rank = 1; rank < comm.size(); ++rank) {
      const matmul::IndexRange theirs = rows_of(rank);
      std::vector<std::uint64_t> words(c.pack(theirs, columns).size());
      comm.recv(rank, words);
      c.unpack(theirs, columns, words);
    }
  }
  *seconds = core::tick_clock().now() - begin;
  return c;
}

}  // namespace tabane::lab
