// tabane linpack: solves a dense system of equations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/solver.h"
#include "tabane/solver/npy.h"
#include "tabane/tools/linpack/solve.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::program {
namespace {

struct LinpackOptions {
  SolverOptions solver;
  int n = -1;  // -1: not given
  int block = 0, look_ahead = 1;
  std::uint64_t seed = 1;
  std::string matrix, right_side, output, pattern = "own";
};

using linpack::Messages;
Messages messages_of(const LinpackOptions& options) {
  if (options.pattern == "1992") return Messages::by_rows;
  return options.look_ahead > 0 ? Messages::look_ahead : Messages::plain;
}

constexpr int kSimulatedEquations = 1000;  // if no number is given

// A file's matrix is counted, too, where all ranks share it.
MemoryCheck memory_for(int n, const LinpackOptions& options, const comm::LaunchOptions& launch) {
  const bool shares_file =
      !options.matrix.empty() && comm::transport_of(launch) == comm::TransportKind::shm;
  return MemoryCheck(launch, [=, &options, shape = launch.grid](int ranks, double bytes) {
    const comm::GridShape grid = comm::fit_grid(ranks, shape);
    const int block = options.block > 0 ? options.block : linpack::default_block(n, grid);
    linpack::require_memory(n, block, grid, bytes, shares_file);
  });
}

std::vector<double> read_right_side(const std::string& file, int n) {
  return linpack::read_matrix_market(file,
                                     [&](int rows, int columns) {
                                       if (rows == n && columns == 1) return;
                                       throw core::UsageError(
                                           "{} is {} x {}, but the matrix needs {} x 1", file, rows,
                                           columns, n);
                                     })
      .values;
}

std::unique_ptr<linpack::System> read_system(const LinpackOptions& options,
                                             const comm::LaunchOptions& launch) {
  auto matrix = linpack::read_matrix_market(options.matrix, [&](int rows, int columns) {
    if (rows != columns) {
      throw core::UsageError("{} is {} x {}, and only a square matrix can be solved",
                             options.matrix, rows, columns);
    }
    memory_for(rows, options, launch);
  });
  std::vector<double> b;
  if (!options.right_side.empty()) b = read_right_side(options.right_side, matrix.rows);
  return std::make_unique<linpack::GivenSystem>(matrix.rows, std::move(matrix.values),
                                                std::move(b));
}

std::unique_ptr<linpack::System> make_system(const LinpackOptions& options,
                                             const comm::LaunchOptions& launch) {
  if (!options.matrix.empty()) return read_system(options, launch);
  int n = options.n;
  if (n < 0) {
    n = options.solver.is_simulated()
            ? kSimulatedEquations
            : linpack::default_size(comm::ranks_on_shm(launch), comm::usable_memory());
  }
  memory_for(n, options, launch);
  return std::make_unique<linpack::RandomSystem>(n, options.seed);
}

// Takes n of rank 0: under MPI each process has chosen n by itself.
void agree(comm::Comm& comm, const LinpackOptions& options,
           std::unique_ptr<linpack::System>& system) {
  int n = system->n();
  comm::broadcast(comm, n, 0);
  if (options.matrix.empty()) system = std::make_unique<linpack::RandomSystem>(n, options.seed);
}

void write_answer(const std::filesystem::path& path, const std::vector<double>& x) {
  if (path.extension() == ".npy") return solver::write_npy(path, x.size(), 1, x);
  std::string text;
  for (const double value : x) text += fmt::format("{:.17g}\n", value);
  core::write_output(path, text);
}

std::string title_of(const LinpackOptions& options, const linpack::SolvedSystem& answer) {
  const solver::Solution& solution = answer.solution;
  const std::string what = options.matrix.empty()
                               ? fmt::format("random matrix of seed {}", options.seed)
                               : printable(options.matrix);
  return fmt::format("{} equations, {}; {}x{} ranks, panels of {} columns\n", answer.n, what,
                     solution.rows, solution.columns, answer.block);
}

// With fewer digits, an error of a per cent is possible, and a warning is given.
constexpr int kFewDigits = 2;

// Returns the right digits of the largest element of x, of the 15 that doubles hold.
int right_digits(double error) {
  return static_cast<int>(std::clamp(-std::log10(error), 0.0, 15.0));
}

std::string digits_text(int digits) {
  if (digits == 0) return "perhaps no digit of x is right";
  return fmt::format("about {} {} of x {} right", digits, digits == 1 ? "digit" : "digits",
                     digits == 1 ? "is" : "are");
}

// throws: core::Error if no x solves the equations, or many do. Warns of an x with few right
// digits.
void review(const linpack::SolvedSystem& answer) {
  if (answer.defect >= 0) {
    throw core::Error(
        "the matrix is singular: in column {} no pivot is left, so no x or many solve it",
        answer.defect + 1);
  }
  const int digits = right_digits(answer.error);
  if (!answer.solution.check.passed() || digits >= kFewDigits) return;
  fmt::print(stderr,
             "tabane: {}: the matrix is nearly singular, or its rows differ too much in scale\n",
             digits_text(digits));
}

std::string text_of(const LinpackOptions& options, const linpack::SolvedSystem& answer) {
  const bool passed = answer.solution.check.passed();
  return title_of(options, answer) +
         solution_text(answer.solution,
                       passed ? digits_text(right_digits(answer.error)) + "\n" : "");
}

void add_keys(const LinpackOptions& options, const linpack::SolvedSystem& answer, lab::Json& json) {
  const bool passed = answer.solution.check.passed(), random = options.matrix.empty();
  json["n"] = answer.n;
  json["block"] = answer.block;
  json["look_ahead"] = messages_of(options) == Messages::look_ahead ? 1 : 0;
  json["pattern"] = options.pattern;
  json["error_estimate"] = answer.error;
  json["right_digits"] = passed ? lab::Json(right_digits(answer.error)) : lab::Json(nullptr);
  json["matrix"] = random ? lab::Json(nullptr) : lab::Json(options.matrix);
  json["seed"] = random ? lab::Json(options.seed) : lab::Json(nullptr);
}

int solve(const LinpackOptions& options) {
  options.solver.check_outputs({{"-o ", options.output}});
  const comm::LaunchOptions launch = options.solver.launch_options();
  const bool under_mpi = comm::transport_of(launch) == comm::TransportKind::mpi;
  std::unique_ptr<linpack::System> system = make_system(options, launch);
  const linpack::SolveOptions how{.block = options.block,
                                  .grid = launch.grid,
                                  .messages = messages_of(options),
                                  .measure_limit = !options.solver.is_simulated()};
  const auto solve_on = [&](comm::Comm& comm) {
    if (under_mpi) {
      agree(comm, options, system);
      memory_for(system->n(), options, launch).on_ranks(comm);
    }
    linpack::SolvedSystem answer = linpack::solve(comm, *system, how);
    if (comm.rank() == 0 && !options.output.empty() && answer.solution.check.passed() &&
        answer.defect < 0) {
      write_answer(options.output, answer.x);
    }
    return answer;
  };
  return run_solver<linpack::SolvedSystem>(
      options.solver, launch,
      {.solve = solve_on,
       .text = [&](const linpack::SolvedSystem& answer) { return text_of(options, answer); },
       .add_keys = [&](const linpack::SolvedSystem& answer,
                       lab::Json& json) { add_keys(options, answer, json); },
       .review = review});
}

Definition define() {
  const auto options = std::make_shared<LinpackOptions>();
  return {
      table({{"--matrix FILE", &options->matrix,
              "Solve with the matrix of a Matrix Market file: array or coordinate, real or "
              "integer, general or symmetric"},
             {"-n N",
              &options->n,
              "Solve N equations with random numbers (default: what takes some seconds; 1000 where "
              "time is simulated)",
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
              "Eliminate N columns at a time; ranks have blocks of N x N (default: as suits the "
              "size)",
              {.range = {1, linpack::kMostBlock}}},
             {"--look-ahead N",
              &options->look_ahead,
              "1: factorise and send the next panel during the update; 0: after it, by plain "
              "broadcasts (default 1)",
              {.range = {0, 1}}},
             {"--pattern NAME",
              &options->pattern,
              "1992: exchange rows and columns one by one, each by a broadcast, as programs did "
              "then; own (default): many at once",
              {.choices = {"own", "1992"}, .excludes = {"--look-ahead"}}},
             {"-o,--output FILE", &options->output,
              "Write x, if it passes the check, to FILE: as NPY if it ends in .npy, otherwise one "
              "number in a line"}},
            options->solver.machine_rows(), options->solver.rows()),
      [options](const Given& given) {
        return solve_with_page(options->solver, given, [&] { return solve(*options); });
      }};
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
