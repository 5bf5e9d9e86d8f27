// Products of multiple-precision matrices against FLINT's and against loops of MPFR.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bench/solvers.h"
#include "tabane/comm/launch.h"
#include "tabane/core/temporary_file.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/matmul/matrix.h"
#include "tabane/tools/matmul/multiply.h"

#ifdef TABANE_BENCH_FLINT
#include <arb_mat.h>
#include <flint/flint.h>
#endif

namespace tabane::bench {
namespace {

namespace mp = matmul;

#ifdef TABANE_BENCH_FLINT

// FLINT's product of the same matrices, as balls of radius 0.
class FlintProduct {
 public:
  FlintProduct(const mp::Matrix& a, const mp::Matrix& b) : bits_(a.bits()) {
    set(a_, a);
    set(b_, b);
    arb_mat_init(c_, a.rows(), b.columns());
  }
  ~FlintProduct() {
    arb_mat_clear(a_);
    arb_mat_clear(b_);
    arb_mat_clear(c_);
  }
  FlintProduct(const FlintProduct&) = delete;
  FlintProduct& operator=(const FlintProduct&) = delete;

  static std::string missing() { return ""; }
  static std::string version() {
    return std::string("FLINT ") + flint_version + ", Arb " + arb_version;
  }
  void multiply() { arb_mat_mul(c_, a_, b_, bits_); }

 private:
  static void set(arb_mat_t to, const mp::Matrix& from) {
    arb_mat_init(to, from.rows(), from.columns());
    for (int i = 0; i < from.rows(); ++i) {
      for (int j = 0; j < from.columns(); ++j) {
        arf_set_mpfr(arb_midref(arb_mat_entry(to, i, j)), from.at(i, j));
      }
    }
  }

  arb_mat_t a_, b_, c_;
  long bits_;
};

#else

class FlintProduct {
 public:
  FlintProduct(const mp::Matrix&, const mp::Matrix&) {}
  static std::string missing() { return "FLINT was not found"; }
  static std::string version() { return ""; }
  void multiply() {}
};

#endif

// The matrices of the published comparison.
struct FactorPair {
  mp::Matrix a, b;
  FactorPair(int n, long bits)
      : a(mp::random_matrix(n, n, bits, 2)), b(mp::random_matrix(n, n, bits, 3)) {}
};
using Shared = std::shared_ptr<const FactorPair>;

double multiply_adds(int n) { return 1.0 * n * n * n; }

class Products {
 public:
  explicit Products(Panel& panel) : panel_(panel) {}

  void ask_all() {
    beside_others(1000, 512, 4, 30);
    for (const long bits : {128L, 1024L, 4096L}) beside_others(300, bits, 2, 0);
    two_at_once();
    shares();
    for (const long bits : {128L, 1024L}) crossover(bits);
  }

 private:
  static Contender product(const Shared& factors) {
    const int n = factors->a.rows();
    return {.name = "tabane",
            .work = core::repeat(
                [factors] { mp::multiply(factors->a, factors->b, factors->a.bits()); }),
            .amount = multiply_adds(n)};
  }

  // On as many rows as take about a second; a row takes as long as another.
  static Contender loop(const Shared& factors, double target) {
    const int n = factors->a.rows();
    const auto bits = factors->a.bits();
    const double row = 1.0 * n * n * (20e-9 + 0.2e-9 * static_cast<double>(bits));
    const int rows = std::clamp(static_cast<int>(1 / row), 1, n);
    const auto part = std::make_shared<mp::Matrix>(factors->a.part({0, rows}, {0, n}));
    return {
        .name = "MPFR, triple loop",
        .work = core::repeat([factors, part, bits] { mp::triple_loop(*part, factors->b, bits); }),
        .amount = 1.0 * rows * n * n,
        .target = target,
        .how = fmt::format("mpfr_mul, mpfr_add on {} rows; MPFR {}", rows, mpfr_get_version())};
  }

  void beside_others(int n, long bits, double over_flint, double over_loop) {
    const std::string name = fmt::format("matmul, n = {}, {} bits, 1 thread", n, bits);
    if (!panel_.wants(name)) return;
    const auto factors = std::make_shared<const FactorPair>(n, bits);
    const auto flint = std::make_shared<FlintProduct>(factors->a, factors->b);
    Contender peer{.name = "FLINT, arb_mat_mul",
                   .work = core::repeat([flint] { flint->multiply(); }),
                   .amount = multiply_adds(n),
                   .target = over_flint,
                   .missing = FlintProduct::missing(),
                   .how = FlintProduct::version()};
    panel_.ask({.name = name,
                .unit = "multiply-adds/s",
                .ours = product(factors),
                .peers = {std::move(peer), loop(factors, over_loop)},
                .measure = long_runs(panel_.settings(), 6, 20)});
  }

  // Efficiency: a speed-up of 1.8 is 0.9.
  void two_at_once() {
    for (const auto& [how, options] :
         {std::pair{"2 threads", "--ranks 1 -t 2"}, {"2 ranks", "--ranks 2"}}) {
      Contender one = run("1 thread", "--ranks 1");
      one.target = 1.8;
      panel_.ask({.name = fmt::format("matmul, n = 1000, 512 bits, {}", how),
                  .unit = "multiply-adds/s",
                  .ours = run("tabane", options),
                  .peers = {std::move(one)},
                  .measure = long_runs(panel_.settings(), 11, 40)});
    }
  }

  Contender run(const std::string& name, const std::string& options) const {
    return solver_run(panel_.settings(), folder_ / "matmul.json", name,
                      "matmul -n 1000 --bits 512 " + options, multiply_adds(1000));
  }

  // The rate of one core's products of doubles, in turn with products whose shares are reported.
  void shares() {
    const std::string name = "matmul, n = 1000, 512 bits, products of doubles";
    if (!panel_.wants(name)) return;
    const FactorPair factors(1000, 512);
    std::vector<double> shares, rates;
    const int runs = panel_.settings().quick ? 2 : 7;
    comm::launch({.ranks = 1, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
      for (int run = 0; run <= runs; ++run) {
        mp::Cost cost;
        const double begin = core::tick_clock().now();
        mp::multiply(factors.a, factors.b, 512, {}, &cost);
        const double seconds = core::tick_clock().now() - begin;
        const double peak = solver::measure_product_rate(comm, 1000, 3);
        if (run == 0) continue;  // warms up
        shares.push_back(cost.product_seconds / seconds);
        rates.push_back(cost.product_operations / cost.product_seconds / peak);
      }
    });
    panel_.tell(name, "share", "of the time", shares, {0.5, true});
    panel_.tell(name, "share", "of the measured peak of one core", rates, {0.85, true});
  }

  // The smallest n from which on residues are faster than the triple loop.
  void crossover(long bits) {
    const std::string name = fmt::format("matmul, crossover, {} bits", bits);
    if (!panel_.wants(name)) return;
    double smallest = 64;
    for (int n = 64; n >= 2; n -= 2) {
      const FactorPair factors(n, bits);
      std::vector<double> ratios;
      for (int run = 0; run < 9; ++run) {
        const double begin = core::tick_clock().now();
        mp::multiply(factors.a, factors.b, bits, {.method = mp::Method::residues});
        const double middle = core::tick_clock().now();
        mp::triple_loop(factors.a, factors.b, bits);
        ratios.push_back((core::tick_clock().now() - middle) / (middle - begin));
      }
      if (core::median(ratios) < 1) break;
      smallest = n;
    }
    panel_.tell(name, "rows", "smallest n where residues beat MPFR's triple loop", {smallest},
                {24});
  }

  Panel& panel_;
  core::ScratchFolder folder_{"matmul-bench"};
};

const RegisteredTopic kTopic({"matmul", "products of multiple-precision matrices",
                              [](Panel& panel) { Products(panel).ask_all(); }});

}  // namespace
}  // namespace tabane::bench
