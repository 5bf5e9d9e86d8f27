// tabane slalom: the light inside a box, for its own sake and as a benchmark.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/units.h"
#include "tabane/program/command.h"
#include "tabane/program/run_study.h"
#include "tabane/program/solver.h"
#include "tabane/tools/slalom/setup.h"
#include "tabane/tools/slalom/solve.h"

namespace tabane::program {
namespace {

constexpr int kMostPatches = 1 << 20;

struct SlalomOptions {
  SolverOptions solver;
  int patches = 2000, block = 0;
  std::optional<std::string> seconds;
  std::string geometry, write_geometry, answer, picture;
};

// Returns the most patches that `usable` bytes hold.
int check_sizes(const SlalomOptions& options, const slalom::Geometry& geometry,
                comm::GridShape grid, double usable) {
  const double bytes = 0.95 * usable;
  if (!options.seconds) slalom::check(geometry, options.patches, grid, options.block, bytes);
  return slalom::most_patches(geometry, bytes, grid, options.block);
}

std::string text_of(const slalom::SolvedBox& answer) {
  const solver::Solution& solution = answer.solution;
  std::string text = fmt::format("{} patches on a grid of {} x {} {}, in panels of {}\n",
                                 answer.patches, solution.rows, solution.columns,
                                 solution.ranks == 1 ? "rank" : "ranks", answer.block);
  if (!answer.row_sums.passed()) {
    return text + fmt::format(
                      "row sums of the couplings are off by {:.3g}, at most {:.3g}: "
                      "FAILED\n",
                      answer.row_sums.residual, answer.row_sums.tolerance);
  }
  text += solution_text(solution);
  const double done = answer.performed / solution.seconds;
  text += fmt::format(
      "\nThe benchmark counts {:.0f} million operations; matrix products and factors took {:.0f}\n"
      "million, since the three colours share those of the first face: {}{}.\n"
      "Row sums of the couplings are off by at most {:.2g} (allowed: {:.2g}).\n",
      solution.operations / 1e6, answer.performed / 1e6, core::format_value(done, "FLOP/s"),
      solution.limit > 0 ? fmt::format(", {:.0f} % of DGEMM", 100 * done / solution.limit) : "",
      answer.row_sums.residual, answer.row_sums.tolerance);
  return text;
}

void add_keys(const slalom::SolvedBox& answer, lab::Json& json) {
  json["patches"] = answer.patches;
  json["block"] = answer.block;
  json["performed_operations"] = answer.performed;
  json["row_sum_deviation"] = answer.row_sums.residual;
  json["row_sum_tolerance"] = answer.row_sums.tolerance;
  json["row_sums_passed"] = answer.row_sums.passed();
}

slalom::SolvedBox solve_on(comm::Comm& comm, const SlalomOptions& options,
                           const slalom::Problem& problem, int most) {
  if (!options.seconds) return slalom::solve(comm, problem);
  const slalom::SearchLimits limits{.seconds = seconds_of("--seconds", *options.seconds),
                                    .most = most};
  return slalom::solve_largest(comm, problem, limits, [&](const slalom::TimedRun& run) {
    if (options.solver.quiet) return;
    // In the place of what AwaitedLine may have drawn.
    fmt::print(stderr, "{}{:6} patches: {}\n", isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "",
               run.patches, core::format_seconds(run.seconds));
  });
}

int solve(const SlalomOptions& options) {
  comm::LaunchOptions launch = options.solver.launch_options();
  std::optional<core::ScratchFolder> folder;
  slalom::Problem problem{.patches = options.patches,
                          .grid = launch.grid,
                          .block = options.block,
                          .answer = options.answer,
                          .picture = options.picture,
                          .measure_limit = !options.solver.is_simulated()};
  problem.geometry = options.geometry;
  if (problem.geometry.empty()) {  // the benchmark reads a file
    folder.emplace("slalom");
    problem.geometry = *folder / "geom";
    core::write_output(problem.geometry, slalom::default_geometry_text());
  }
  const slalom::Geometry geometry = slalom::read_geometry(problem.geometry);
  int most = 0;
  const MemoryCheck memory(launch, [&](int ranks, double bytes) {
    most = check_sizes(options, geometry, slalom::grid_of(ranks, launch.grid), bytes);
  });
  const auto solve_checked = [&](comm::Comm& comm) {
    memory.on_ranks(comm);
    return solve_on(comm, options, problem, most);
  };
  return run_solver<slalom::SolvedBox>(
      options.solver, launch, {.solve = solve_checked, .text = text_of, .add_keys = add_keys});
}

int run(const SlalomOptions& options) {
  options.solver.check_outputs({{"--output ", options.answer},
                                {"--picture ", options.picture},
                                {"--write-geom ", options.write_geometry}});
  if (!options.write_geometry.empty()) {
    core::write_output(options.write_geometry, slalom::default_geometry_text());
    return kOk;
  }
  if (options.seconds && !(seconds_of("--seconds", *options.seconds) > 0)) {
    throw core::UsageError("--seconds: more than 0 are needed");
  }
  return solve(options);
}

Definition define() {
  const auto options = std::make_shared<SlalomOptions>();
  return {
      table({{"--patches N",
              &options->patches,
              "Cut the faces into N patches (default 2000)",
              {.range = {6, kMostPatches}}},
             {"--seconds TIME",
              &options->seconds,
              "Find the most patches that are solved in less than TIME, in a few runs; the "
              "benchmark's is 60s",
              {.excludes = {"--patches", "--page"}}},
             {"--geom FILE", &options->geometry,
              "Read the box from FILE: 3 sizes, 18 reflectivities, 18 emissivities (default: the "
              "benchmark's box)"},
             {"--write-geom FILE", &options->write_geometry,
              "Only write the benchmark's box to FILE"},
             {"-o,--output FILE", &options->answer,
              "Write the patches and their radiosities to FILE as text"},
             {"--picture FILE", &options->picture,
              "Draw the lit box, seen through its third face, into FILE as PNG"},
             {"--block N",
              &options->block,
              "Factor N columns at a time (default: chosen from the size and the grid)",
              {.range = {1, 4096}}}},
            options->solver.machine_rows(), options->solver.rows()),
      [options](const Given& given) {
        return solve_with_page(options->solver, given, [&] { return run(*options); });
      }};
}

}  // namespace

extern constinit const Verb slalom_verb{
    .name = "slalom",
    .what = "Compute the light inside a box: the benchmark SLALOM, and pictures",
    .group = "Solve",
    .examples =
        "  tabane slalom                          2000 patches of the benchmark's box, on all PUs\n"
        "  tabane slalom --patches 8000 --picture box.png -o answer\n"
        "  tabane slalom --seconds 60             the benchmark: as many patches as one minute "
        "solves\n"
        "  tabane slalom --write-geom geom        writes the box to a file, to change it\n"
        "  tabane slalom --geom geom --ranks 4 --grid 2x2\n"
        "  mpirun -n 16 tabane slalom --seconds 60",
    .define = define};

}  // namespace tabane::program
