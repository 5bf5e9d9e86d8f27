// tabane linpack: solves a dense system of equations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/core/output_path.h"
#include "tabane/program/command.h"
#include "tabane/program/printable.h"
#include "tabane/program/solver.h"
#include "tabane/solver/npy.h"
#include "tabane/tools/linpack/matrix_market.h"
#include "tabane/tools/linpack/problem.h"
#include "tabane/tools/linpack/solve.h"

namespace tabane::program {
namespace {

struct Options {
  SolverOptions solver;
  int n = -1;  // -1: not given
  int block = 0, look_ahead = 1;
  std::uint64_t seed = 1;
  std::string matrix, right_side, output;
};

// Where the ranks will run and what they may use, as far as this process knows before they do.
struct Place {
  int ranks;
  comm::GridShape grid;
  double memory;
  bool mpi;  // so there may be more machines than this one
};

Place place_of(const comm::LaunchOptions& launch) {
  const int ranks = comm::ranks_on_shm(launch);
  return {ranks, comm::fit_grid(ranks, launch.grid), comm::usable_memory(),
          comm::transport_of(launch) == comm::TransportKind::mpi};
}

int block_of(int n, const Options& options, comm::GridShape grid) {
  return options.block > 0 ? options.block : linpack::default_block(n, grid);
}

void require_fits(int n, const Options& options, const Place& place) {
  if (place.mpi) return;  // see agree()
  linpack::require_memory(n, block_of(n, options, place.grid), place.grid, place.memory,
                          !options.matrix.empty());
}

std::vector<double> read_right_side(const std::string& file, int n) {
  return linpack::read_matrix_market(
             file,
             [&](int rows, int columns) {
               if (rows == n && columns == 1) return;
               throw core::UsageError(fmt::format("{} is {} x {}, but the matrix needs {} x 1",
                                                  file, rows, columns, n));
             })
      .values;
}

std::unique_ptr<linpack::System> read_system(const Options& options, const Place& place) {
  auto matrix = linpack::read_matrix_market(options.matrix, [&](int rows, int columns) {
    if (rows != columns) {
      throw core::UsageError(fmt::format("{} is {} x {}, and only a square matrix can be solved",
                                         options.matrix, rows, columns));
    }
    require_fits(rows, options, place);
  });
  std::vector<double> b;
  if (!options.right_side.empty()) b = read_right_side(options.right_side, matrix.rows);
  return std::make_unique<linpack::GivenSystem>(matrix.rows, std::move(matrix.values),
                                                std::move(b));
}

std::unique_ptr<linpack::System> make_system(const Options& options, const Place& place) {
  if (!options.matrix.empty()) return read_system(options, place);
  const int n = options.n >= 0 ? options.n : linpack::default_size(place.ranks, place.memory);
  require_fits(n, options, place);
  return std::make_unique<linpack::RandomSystem>(n, options.seed);
}

// Under MPI each process has chosen n by itself, and none has seen the memory of all.
void agree(comm::Comm& comm, const Options& options, std::unique_ptr<linpack::System>& system) {
  int n = system->n();
  comm::broadcast(comm, n, 0);
  if (options.matrix.empty()) {
    system = std::make_unique<linpack::RandomSystem>(n, options.seed);
  }
  const comm::GridShape grid = comm::fit_grid(comm.size(), options.solver.launch_options().grid);
  linpack::require_memory(n, block_of(n, options, grid), grid, comm::usable_memory_of_all(comm));
}

void write_answer(const std::filesystem::path& path, const std::vector<double>& x) {
  if (path.extension() == ".npy") return solver::write_npy(path, x.size(), 1, x);
  std::string text;
  for (const double value : x) text += fmt::format("{:.17g}\n", value);
  core::write_output(path, text);
}

std::string title_of(const Options& options, const linpack::Answer& answer) {
  const solver::Solution& solution = answer.solution;
  const std::string what = options.matrix.empty()
                               ? fmt::format("random matrix of seed {}", options.seed)
                               : printable(options.matrix);
  return fmt::format("{} equations, {}; {}x{} ranks, panels of {} columns\n", answer.n, what,
                     solution.rows, solution.columns, answer.block);
}

// A warning where the estimate leaves an error of a per cent possible.
constexpr int kFewDigits = 2;

// Of the largest element of x, for which doubles hold 15.
int right_digits(double error) {
  return static_cast<int>(std::clamp(-std::log10(error), 0.0, 15.0));
}

std::string digits_text(int digits) {
  if (digits == 0) return "perhaps no digit of x is right";
  return fmt::format("about {} {} of x {} right", digits, digits == 1 ? "digit" : "digits",
                     digits == 1 ? "is" : "are");
}

void report(const Options& options, const linpack::Answer& answer) {
  const solver::Solution& solution = answer.solution;
  if (answer.defect >= 0) {
    throw core::Error(fmt::format(
        "the matrix is singular: in column {} no pivot is left, so no x or many solve it",
        answer.defect + 1));
  }
  const int digits = right_digits(answer.error);
  const bool passed = solution.check.passed();
  if (passed && digits < kFewDigits) {
    fmt::print(stderr,
               "tabane: {}: the matrix is nearly singular, or its rows differ too much in scale\n",
               digits_text(digits));
  }
  if (!options.solver.quiet && !options.solver.json.to_stdout()) {
    fmt::print("{}{}", title_of(options, answer),
               solution_text(solution, passed ? digits_text(digits) + "\n" : ""));
  }
  lab::Json json = to_json(solution);
  json["n"] = answer.n;
  json["block"] = answer.block;
  json["look_ahead"] = options.look_ahead;
  json["error_estimate"] = answer.error;
  json["right_digits"] = passed ? lab::Json(digits) : lab::Json(nullptr);
  json["matrix"] = options.matrix.empty() ? lab::Json(nullptr) : lab::Json(options.matrix);
  json["seed"] = options.matrix.empty() ? lab::Json(options.seed) : lab::Json(nullptr);
  options.solver.json.write(json);
}

int solve(const Options& options) {
  options.solver.json.check();
  if (!options.output.empty()) require_writable_file("-o ", options.output);
  const comm::LaunchOptions launch = options.solver.launch_options();
  const Place place = place_of(launch);
  std::unique_ptr<linpack::System> system = make_system(options, place);
  const linpack::Options how{.block = options.block,
                             .grid = launch.grid,
                             .elimination = {.look_ahead = options.look_ahead > 0},
                             .measure_limit = true};
  const auto answer = comm::launch_result<linpack::Answer>(launch, [&](comm::Comm& comm) {
    if (place.mpi) agree(comm, options, system);
    linpack::Answer own = linpack::solve(comm, *system, how);
    if (comm.rank() == 0 && !options.output.empty() && own.solution.check.passed() &&
        own.defect < 0) {
      write_answer(options.output, own.x);
    }
    return own;
  });
  if (!answer) return kOk;  // under MPI rank 0 reports
  report(options, *answer);
  return answer->solution.check.passed() ? kOk : kVerification;
}

Definition define() {
  const auto options = std::make_shared<Options>();
  return {
      table({{"--matrix FILE", &options->matrix,
              "Solve with the matrix of a Matrix Market file: array or coordinate, real or "
              "integer, general or symmetric"},
             {"-n N",
              &options->n,
              "Solve N equations with random numbers (default: what takes some seconds)",
              {.range = {1, linpack::kMostEquations}, .excludes = {"--matrix"}}},
             {"--seed N",
              &options->seed,
              "Draw other random numbers; those of one seed are the same on any grid (default 1)",
              {.excludes = {"--matrix"}}},
             {"--rhs FILE",
              &options->right_side,
              "Take the right side from a Matrix Market file (default: the sums of the rows, so "
              "that every x is 1)",
              {.needs = {"--matrix"}}},
             {"--block N",
              &options->block,
              "Eliminate N columns at a time, and deal the matrix out in blocks of N x N "
              "(default: by size)",
              {.range = {1, linpack::kMostBlock}}},
             {"--look-ahead N",
              &options->look_ahead,
              "1: factorise and send the next panel during the update; 0: after it, by plain "
              "broadcasts (default 1)",
              {.range = {0, 1}}},
             {"-o,--output FILE", &options->output,
              "Write x, if it passes the check, to FILE: as NPY if it ends in .npy, otherwise a "
              "number a line"}},
            options->solver.rows()),
      [options](const Given&) { return solve(*options); }};
}

}  // namespace

extern constinit const Verb linpack_verb{
    .name = "linpack",
    .what = "Solve a dense system of equations on all cores",
    .group = "Solve",
    .examples =
        "  tabane linpack                      solves random equations, and shows rate and steps\n"
        "  tabane linpack -n 4000 --grid 1x2   solves 4000 on two ranks\n"
        "  tabane linpack --matrix A.mtx --rhs b.mtx -o x.txt\n"
        "                                      solves A x = b\n"
        "  mpirun -n 8 tabane linpack -n 20000 --grid 2x4\n"
        "                                      solves on the ranks of an MPI launcher\n"
        "\nExit code 4: the answer failed its check.",
    .define = define};

}  // namespace tabane::program
