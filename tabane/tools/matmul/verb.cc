// tabane matmul: multiplies matrices of multiple-precision numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/units.h"
#include "tabane/program/command.h"
#include "tabane/program/solver.h"
#include "tabane/tools/matmul/matrix.h"
#include "tabane/tools/matmul/multiply.h"
#include "tabane/tools/matmul/solve.h"

namespace tabane::program {
namespace {

namespace mp = matmul;

struct MatmulOptions {
  SolverOptions solver;
  int n = 1000, threads = 1;
  long bits = 512;
  std::uint64_t seed = 1;
  bool is_complex = false, compare_loop = false;
  std::string left, right, output, rounding = "nearest", method = "auto", share = "auto", memory;

  bool to_stdout() const { return output == "-"; }
};

mpfr_rnd_t rounding_of(const std::string& name) {
  if (name == "zero") return MPFR_RNDZ;
  if (name == "up") return MPFR_RNDU;
  return name == "down" ? MPFR_RNDD : MPFR_RNDN;
}

constexpr const char* kMethodNames[] = {"auto", "residues", "integers", "sums"};

mp::Method method_of(const std::string& name) {
  const auto* const at = std::find(std::begin(kMethodNames), std::end(kMethodNames), name);
  return static_cast<mp::Method>(at - std::begin(kMethodNames));
}

mp::Shares shares_of(const std::string& name) {
  if (name == "blocks") return mp::Shares::blocks;
  return name == "primes" ? mp::Shares::primes : mp::Shares::automatic;
}

// Bytes for the residues of one rank; 0: half of what is usable.
double memory_of_rank(const MatmulOptions& options, const comm::Comm& comm) {
  if (options.memory.empty()) return 0;
  return std::max(1.0, static_cast<double>(core::parse_size(options.memory)) / comm.size());
}

struct Matrices {
  mp::ComplexMatrix a, b;  // of real ones `im` is empty
};

void require_fits(const MatmulOptions& options) {
  const double each = static_cast<double>(sizeof(__mpfr_struct)) + options.bits / 8.0 + 8;
  // Both factors, the product, and the ranks' parts of all three.
  const double bytes = (options.is_complex ? 12.0 : 6.0) * options.n * options.n * each;
  solver::require_memory(bytes, comm::usable_memory(), [&](const auto& needed, const auto& usable) {
    return fmt::format("-n {} --bits {}: the matrices take {}, but only {} are usable", options.n,
                       options.bits, needed, usable);
  });
}

Matrices make_matrices(const MatmulOptions& options) {
  Matrices matrices;
  if (!options.left.empty()) {
    matrices.a.re = mp::read_text(options.left, options.bits);
    matrices.b.re = mp::read_text(options.right, options.bits);
    if (matrices.a.re.columns() == matrices.b.re.rows()) return matrices;
    throw core::UsageError(
        "{} is {} x {} and {} is {} x {}: the second needs as many rows as the first has columns",
        options.left, matrices.a.re.rows(), matrices.a.re.columns(), options.right,
        matrices.b.re.rows(), matrices.b.re.columns());
  }
  require_fits(options);
  const auto draw = [&](unsigned factor, std::uint64_t more) {
    return mp::random_matrix(options.n, options.n, options.bits, factor, options.seed + more);
  };
  matrices.a.re = draw(2, 0);
  matrices.b.re = draw(3, 0);
  if (options.is_complex) {
    matrices.a.im = draw(2, 1);
    matrices.b.im = draw(3, 1);
  }
  return matrices;
}

// Seconds of a multiply-add of the plain loop, from as many rows as take about a second.
double loop_seconds(const MatmulOptions& options, const Matrices& matrices) {
  const mp::Matrix &a = matrices.a.re, &b = matrices.b.re;
  const double row = static_cast<double>(a.columns()) * b.columns();
  if (row == 0 || a.rows() == 0) return 0;
  const double wanted = 1 / (row * (20e-9 + 0.15e-9 * static_cast<double>(options.bits)));
  const int rows = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(a.rows())));
  const mp::Matrix part = a.part({0, rows}, {0, a.columns()});
  const double begin = core::tick_clock().now();
  mp::triple_loop(part, b, options.bits, rounding_of(options.rounding));
  return (core::tick_clock().now() - begin) / (rows * row);
}

struct ComparedAnswer : mp::MatrixProduct {
  double loop = 0;  // seconds of a multiply-add of the plain loop; 0: not measured
  auto fields() { return std::tuple_cat(MatrixProduct::fields(), std::tie(loop)); }
};

std::string method_text(const mp::Cost& cost) {
  switch (cost.method) {
    case mp::Method::integers:
      return "loop over integers";
    case mp::Method::sums:
      return "exact sums, element by element";
    default:
      return fmt::format("residues modulo {} primes", cost.primes) +
             (cost.groups > 1 ? fmt::format(" in {} groups of terms", cost.groups) : "");
  }
}

// The product's seconds, and what of them a thread of rank 0 did, in shares.
std::string shares_text(const mp::MatrixProduct& answer, int threads) {
  const mp::Cost& cost = answer.cost;
  const double all = answer.solution.seconds * threads / 100;
  if (cost.method != mp::Method::residues || cost.product_seconds == 0) return "";
  return fmt::format("products of doubles {:.0f} %, at {}; into residues {:.0f} %, back {:.0f} %\n",
                     cost.product_seconds / all,
                     core::format_value(cost.product_operations / cost.product_seconds, "FLOP/s"),
                     cost.residue_seconds / all, cost.rebuild_seconds / all);
}

// As "2x1 ranks", "2 ranks that share the primes" or "1x1 rank of 2 threads".
std::string workers_text(const mp::MatrixProduct& answer, int threads) {
  const solver::Solution& solution = answer.solution;
  const std::string how = threads > 1 ? fmt::format(" of {} threads", threads) : "";
  if (answer.primes_are_shared) {
    return fmt::format("{} ranks{} that share the primes", solution.ranks, how);
  }
  return fmt::format("{}x{} rank{}{}", solution.rows, solution.columns,
                     solution.ranks == 1 ? "" : "s", how);
}

std::string text_of(const MatmulOptions& options, const Matrices& matrices,
                    const ComparedAnswer& answer) {
  const solver::Solution& solution = answer.solution;
  const mp::Cost& cost = answer.cost;
  const mp::Matrix &a = matrices.a.re, &b = matrices.b.re;
  std::string text =
      fmt::format("{} x {} by {} x {}{}, {} bits; {}, {}\n{}, {}\n", a.rows(), a.columns(),
                  b.rows(), b.columns(), options.is_complex ? ", complex" : "", options.bits,
                  workers_text(answer, options.threads), method_text(cost),
                  core::format_seconds(solution.seconds),
                  core::format_value(solution.rate(), "multiply-adds/s"));
  text += shares_text(answer, options.threads);
  if (cost.outliers > 0) {
    text += fmt::format("{:.0f} elements of rank 0 computed one by one, for their exponents\n",
                        cost.outliers);
  }
  if (answer.loop > 0) {
    text += fmt::format("{:.1f} times the triple loop on one core ({})\n",
                        solution.rate() * answer.loop,
                        core::format_value(1 / answer.loop, "multiply-adds/s"));
  }
  return text + fmt::format("sketch of {} rows and a sample of elements: {}\n", a.rows(),
                            solution.check.passed() ? "PASSED" : "FAILED");
}

void add_keys(const MatmulOptions& options, const Matrices& matrices, const ComparedAnswer& answer,
              lab::Json& json) {
  const mp::Cost& cost = answer.cost;
  const auto or_null = [](double value) {
    return value > 0 ? lab::Json(value) : lab::Json(nullptr);
  };
  json["rows"] = matrices.a.re.rows();
  json["terms"] = matrices.a.re.columns();
  json["columns"] = matrices.b.re.columns();
  json["bits"] = options.bits;
  json["complex"] = options.is_complex;
  json["rounding"] = options.rounding;
  json["threads"] = options.threads;
  json["share"] = answer.primes_are_shared ? "primes" : "blocks";
  json["method"] = kMethodNames[static_cast<int>(cost.method)];
  json["primes"] = cost.primes;
  json["groups"] = cost.groups;
  json["widest_bits"] = cost.widest;
  json["elements_apart"] = cost.outliers;
  json["residue_bytes"] = cost.bytes;
  json["double_product_operations"] = cost.product_operations;
  json["double_product_seconds"] = cost.product_seconds;
  json["into_residues_seconds"] = cost.residue_seconds;
  json["from_residues_seconds"] = cost.rebuild_seconds;
  json["loop_seconds_per_multiply_add"] = or_null(answer.loop);
  json["seed"] = options.left.empty() ? lab::Json(options.seed) : lab::Json(nullptr);
}

void write_product(const MatmulOptions& options, const mp::Matrix& product) {
  const std::string text = mp::text_of(product);
  if (!options.to_stdout()) return core::write_output(options.output, text);
  fmt::print("{}", text);
  std::fflush(stdout);
}

void check_outputs(const MatmulOptions& options) {
  options.solver.json.check();
  if (options.left.empty() != options.right.empty()) {
    throw core::UsageError("--left and --right go together");
  }
  if (!options.output.empty()) {
    if (options.is_complex) throw core::UsageError("-o writes real matrices, not --complex ones");
    if (!options.to_stdout()) require_writable_file("-o ", options.output);
    if (options.to_stdout() && options.solver.json.to_stdout()) {
      throw core::UsageError("--json and the product would both go to stdout: name a file by -o");
    }
  }
  if (!options.memory.empty()) core::parse_size(options.memory);  // refuses what is no size
}

ComparedAnswer multiply_on(comm::Comm& comm, const MatmulOptions& options, const Matrices& matrices,
                           comm::GridShape grid) {
  const mp::SolveOptions how{.product = {.rounding = rounding_of(options.rounding),
                                         .threads = options.threads,
                                         .memory = memory_of_rank(options, comm),
                                         .method = method_of(options.method)},
                             .shares = shares_of(options.share),
                             .grid = grid,
                             .measure_limit = options.solver.json.given()};
  ComparedAnswer answer{options.is_complex
                            ? mp::solve(comm, matrices.a, matrices.b, options.bits, how)
                            : mp::solve(comm, matrices.a.re, matrices.b.re, options.bits, how)};
  if (comm.rank() != 0) return answer;
  if (options.compare_loop) answer.loop = loop_seconds(options, matrices);
  if (!options.output.empty() && answer.solution.check.passed()) {
    write_product(options, answer.c.re);
  }
  return answer;
}

int multiply(const MatmulOptions& options) {
  check_outputs(options);
  comm::LaunchOptions launch = options.solver.launch_options();
  // A rank's place has one PU for one thread.
  if (options.threads > 1) launch.placement = core::PlacementPolicy::none;
  const Matrices matrices = make_matrices(options);
  return run_solver<ComparedAnswer>(
      options.solver, launch,
      {.solve = [&](comm::Comm& comm) { return multiply_on(comm, options, matrices, launch.grid); },
       .text = [&](const ComparedAnswer& answer) { return text_of(options, matrices, answer); },
       .add_keys = [&](const ComparedAnswer& answer,
                       lab::Json& json) { add_keys(options, matrices, answer, json); },
       .text_to = options.to_stdout() ? stderr : stdout});
}

Definition define() {
  const auto options = std::make_shared<MatmulOptions>();
  return {
      table(
          {{"--left FILE", &options->left,
            "Read the left factor from a text file: decimal numbers, one row a line"},
           {"--right FILE", &options->right, "Read the right factor from a text file"},
           {"-n N",
            &options->n,
            "Multiply random N x N matrices, of numbers below the square roots of 2 and 3 (default "
            "1000)",
            {.range = {1, mp::kMostRows}, .excludes = {"--left"}}},
           {"--bits N",
            &options->bits,
            "Give all numbers, also those read from files, N bits (default 512)",
            {.range = {mp::kLeastBits, mp::kMostBits}}},
           {"--complex",
            &options->is_complex,
            "Multiply random complex matrices",
            {.excludes = {"--left"}}},
           {"--seed N",
            &options->seed,
            "Draw other random numbers (default 1)",
            {.excludes = {"--left"}}},
           {"--rounding NAME",
            &options->rounding,
            "Round each element of the result to the nearest number, towards zero, up or down "
            "(default nearest)",
            {.choices = {"nearest", "zero", "up", "down"}}},
           {"-t,--threads N",
            &options->threads,
            "Use N threads in each rank (default 1)",
            {.range = {1, mp::kMostThreads}}},
           {"--memory SIZE", &options->memory,
            "Take at most SIZE for residues, on all ranks together (default: half of what is "
            "usable)"},
           {"--method NAME",
            &options->method,
            "Compute by products of doubles modulo primes (residues), by a loop over integers, or "
            "by exact sums element by element; all give the same bits (default auto: what a model "
            "says is fastest)",
            {.choices = {std::begin(kMethodNames), std::end(kMethodNames)}}},
           {"--share NAME",
            &options->share,
            "Give each rank a block of the product, or some of the primes (default auto: what a "
            "model says is fastest; blocks with --grid)",
            {.choices = {"auto", "blocks", "primes"}}},
           {"--compare-loop", &options->compare_loop,
            "Time the triple loop of MPFR's operations, too, on some rows"},
           {"-o,--output FILE", &options->output,
            "Write the product, if it passes the check, to a text file; -: to stdout"}},
          options->solver.rows()),
      [options](const Given&) { return multiply(*options); }};
}

}  // namespace

extern constinit const Verb matmul_verb{
    .name = "matmul",
    .what = "Multiply matrices of multiple-precision numbers, exactly",
    .group = "Solve",
    .examples =
        "  tabane matmul -n 1000 --bits 512    multiplies random matrices of 512 bits on all "
        "cores\n"
        "  tabane matmul --left A.txt --right B.txt --bits 200 -o C.txt\n"
        "                                      multiplies what is in two files\n"
        "  tabane matmul -n 500 --bits 4096 --ranks 1 -t 2 --compare-loop\n"
        "                                      uses two threads, and times MPFR's loop, too\n"
        "\nEach element is the exact sum of its products, rounded once.\n"
        "Exit code 4: the product failed its check.",
    .define = define};

}  // namespace tabane::program
