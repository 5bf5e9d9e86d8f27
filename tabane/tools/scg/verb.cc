// tabane scg: solves Poisson's equation on a rectangle by scaled conjugate gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/program/command.h"
#include "tabane/program/solver.h"
#include "tabane/solver/npy.h"
#include "tabane/solver/picture.h"
#include "tabane/tools/scg/problem.h"
#include "tabane/tools/scg/solve.h"
#include "tabane/tools/scg/system.h"

namespace tabane::program {
namespace {

using namespace scg;

struct ScgOptions {
  SolverOptions solver;
  std::string size, f = "1", k = "1", boundary, mean = "harmonic", output, picture;
  SolveOptions solve;
};

// "400", or "300x400".
std::pair<int, int> size_of(const std::string& text) {
  if (text.find('x') != std::string::npos) return pair_of("-n", text);
  const int n = core::number_in<int>(text).value_or(0);
  if (n > 0) return {n, n};
  throw core::UsageError("-n: \"{}\" is neither a positive number nor two such as 300x400", text);
}

Problem problem_of(const ScgOptions& options) {
  Problem problem;
  problem.f = values_named("-f", options.f);
  problem.k = values_named("-k", options.k);
  problem.mean = options.mean == "harmonic" ? FaceMean::harmonic : FaceMean::arithmetic;
  if (!options.boundary.empty()) set_boundary(problem, options.boundary);
  take_size_from_arrays(problem);
  if (!options.size.empty()) {
    const auto size = size_of(options.size);
    problem.rows = static_cast<std::size_t>(size.first);
    problem.columns = static_cast<std::size_t>(size.second);
  }
  check(problem);
  return problem;
}

void check_tolerance(double tolerance) {
  if (tolerance > 0 && tolerance < 1) return;
  throw core::UsageError(
      "--tolerance: {} is not between 0 and 1; at 1, no iteration would be left to do", tolerance);
}

// Where nothing is said, no more ranks than the mesh has room for.
comm::LaunchOptions launch_options(const ScgOptions& options, const Problem& problem) {
  comm::LaunchOptions launch = options.solver.launch_options();
  if (launch.ranks == 0 && comm::transport_of(launch) == comm::TransportKind::shm) {
    launch.ranks = most_ranks(comm::ranks_on_shm(launch), problem);
  }
  if (launch.ranks > 0) choose_grid(launch.ranks, problem, launch.grid);
  return launch;
}

Extras extras_of(const ScgOptions& options, const Problem& problem) {
  return {.values = !options.output.empty() || !options.picture.empty(),
          .proof = options.solve.prove || needs_proof(problem)};
}

SolvedMesh solve_on(comm::Comm& comm, const ScgOptions& options, const Problem& problem,
                    comm::GridShape grid) {
  SolveOptions how = options.solve;
  how.grid = grid;
  how.measure_limit = !options.solver.is_simulated();  // of this machine
  std::vector<double> values;
  SolvedMesh answer =
      solve(comm, problem, how, extras_of(options, problem).values ? &values : nullptr);
  if (comm.rank() != 0 || !answer.solution.check.passed()) return answer;
  if (!options.output.empty()) {
    solver::write_npy(options.output, problem.rows, problem.columns, values);
  }
  if (!options.picture.empty()) {
    solver::write_png(options.picture, solver::picture_of(problem.rows, problem.columns, values));
  }
  return answer;
}

double share_of_proof(const SolvedMesh& answer) {
  return answer.proof.seconds / (answer.proof.seconds + answer.solution.seconds);
}

// What is known of the error of u.
std::string error_text(const SolvedMesh& answer) {
  const Proof& proof = answer.proof;
  if (!proof.asked) return "error of u: not bounded; --prove bounds it\n";
  const std::string cost = fmt::format(
      "{}, {}, {:.0f} % of the whole time", core::counted(proof.iterations, "more iteration"),
      core::format_seconds(proof.seconds), 100 * share_of_proof(answer));
  const int digits = static_cast<int>(std::clamp(-std::log10(proof.bound), 0.0, 16.0));
  if (digits == 0) return fmt::format("error of u: no digit is proved ({})\n", cost);
  return fmt::format("error of u: at most {:.2g} of its largest value, {} digits proved ({})\n",
                     proof.bound, digits, cost);
}

std::string text_of(const SolvedMesh& answer) {
  const double points = static_cast<double>(answer.rows) * static_cast<double>(answer.columns) *
                        static_cast<double>(answer.iterations);
  return fmt::format(
      "{} x {} unknowns on {} x {} ranks: {}{}, {:.3g} ns per unknown and iteration\n"
      "{}{}rates count {:.0f} operations per unknown and iteration (the least is {:.0f});\n"
      "{:.0f} bytes of memory traffic per unknown and iteration\n",
      answer.rows, answer.columns, answer.solution.rows, answer.solution.columns,
      answer.converged ? "" : "not yet converged after ",
      core::counted(answer.iterations, "iteration"),
      points > 0 ? 1e9 * answer.solution.seconds / points : 0, solution_text(answer.solution),
      error_text(answer), kOperations, kLeastOperations, answer.bytes_per_unknown);
}

void add_keys(const SolvedMesh& answer, lab::Json& json) {
  json["unknowns"] = {answer.rows, answer.columns};
  json["iterations"] = answer.iterations;
  json["converged"] = answer.converged;
  const Proof& proof = answer.proof;
  json["error_bound"] = std::isfinite(proof.bound) ? lab::Json(proof.bound) : lab::Json(nullptr);
  json["proof"] = proof.asked ? lab::Json{{"iterations", proof.iterations},
                                          {"seconds", proof.seconds},
                                          {"share_of_time", share_of_proof(answer)}}
                              : lab::Json(nullptr);
  json["operations_per_unknown_and_iteration"] = kOperations;
  json["least_operations_per_unknown_and_iteration"] = kLeastOperations;
  json["bytes_per_unknown_and_iteration"] = answer.bytes_per_unknown;
}

int scg(const ScgOptions& options) {
  check_tolerance(options.solve.tolerance);
  const Problem problem = problem_of(options);
  if (options.solver.is_simulated() && (options.solve.prove || needs_proof(problem))) {
    throw core::UsageError(
        "--machine: the time of a proof is not simulated; leave out --prove, or "
        "take a k that varies by less than 10000");
  }
  const comm::LaunchOptions launch = launch_options(options, problem);
  const MemoryCheck memory(launch, [&](int, double bytes) {
    check_memory(problem, extras_of(options, problem), bytes);
  });
  options.solver.check_outputs({{"-o ", options.output}, {"--picture ", options.picture}});
  const auto solve_checked = [&](comm::Comm& comm) {
    memory.on_ranks(comm);
    return solve_on(comm, options, problem, launch.grid);
  };
  return run_solver<SolvedMesh>(options.solver, launch,
                                {.solve = solve_checked, .text = text_of, .add_keys = add_keys});
}

Definition define() {
  const auto options = std::make_shared<ScgOptions>();
  return {
      table(
          {{"-n N|RxC", &options->size,
            "Use N x N unknowns, or ROWSxCOLUMNS, on a rectangle of width 1 (default: the size of "
            "the arrays that are given, or 400)"},
           {"-f VALUE", &options->f,
            "f: a number, or an NPY file with one for each unknown, the first row at the north "
            "side "
            "(default 1); where several hosts take part, each reads the file"},
           {"-k VALUE", &options->k,
            "k, in the same way; it must be positive, and is averaged between unknowns (default "
            "1)"},
           {"--mean NAME",
            &options->mean,
            "Average k by the harmonic mean, right where k jumps, or the arithmetic one (default "
            "harmonic)",
            {.choices = {"harmonic", "arithmetic"}}},
           {"--boundary SIDE=VALUE,...", &options->boundary,
            "What is known on the sides north (row 0), south, west and east: u one square beyond "
            "the outermost unknowns (west=1), or k du/dn on their outer faces (east=neumann, "
            "south=neumann:0.5). Both are numbers, or NPY files from west to east or north to "
            "south (default: u is 0)"},
           {"--tolerance X", &options->solve.tolerance,
            "Stop when the norm of the residual is X times the first one; with --prove, when the "
            "error is at most X times the largest u (default 2e-12)"},
           {"--iterations N",
            &options->solve.most_iterations,
            "Fail after N iterations, those of the proof included (default: 20 for "
            "each row and column, at least 10000, and ten times as many for the proof)",
            {.range = kAboveZero}},
           {"--prove", &options->solve.prove,
            "Prove a bound on the error of u, and iterate until it is within the tolerance; always "
            "done where k varies by more than 10000"},
           {"-o,--output FILE", &options->output,
            "Write u, if it passes the check, to an NPY file"},
           {"--picture FILE", &options->picture,
            "Write a picture of u, if it passes, to a PNG file"}},
          options->solver.machine_rows(), options->solver.rows()),
      [options](const Given& given) {
        return solve_with_page(options->solver, given, [&] { return scg(*options); });
      }};
}

}  // namespace

extern constinit const Verb scg_verb{
    .name = "scg",
    .what = "Solve -div(k grad u) = f on a rectangle by scaled conjugate gradients",
    .group = "Solve",
    .examples =
        "  tabane scg                           solves -div(grad u) = 1 on a square, u = 0 around\n"
        "  tabane scg -n 300x600 -k k.npy --boundary west=1,east=0,north=neumann,south=neumann\n"
        "                                       what flows through a layer whose k varies\n"
        "  tabane scg -n 1000 --picture u.png   draws the solution\n"
        "  mpirun -n 4 tabane scg -n 2000       on the ranks of MPI\n"
        "\nExit code 4: it did not converge, or the answer failed its check.",
    .define = define};

}  // namespace tabane::program
