// tabane scg: solves Poisson's equation on a rectangle by scaled conjugate gradients.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/program/command.h"
#include "tabane/program/solver.h"
#include "tabane/solver/npy.h"
#include "tabane/solver/picture.h"
#include "tabane/tools/scg/block.h"
#include "tabane/tools/scg/inputs.h"
#include "tabane/tools/scg/model.h"
#include "tabane/tools/scg/solve.h"

namespace tabane::program {
namespace {

using namespace scg;

struct Options {
  SolverOptions solver;
  std::string size, f = "1", k = "1", boundary, mean = "harmonic", output, picture;
  Settings settings;
};

// "400", or "300x400".
Pair size_of(const std::string& text) {
  if (text.find('x') != std::string::npos) return pair_of("-n", text);
  int n = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stop != end || n < 1) {
    throw core::UsageError(
        fmt::format("-n: \"{}\" is neither a positive number nor two such as 300x400", text));
  }
  return {n, n};
}

Problem problem_of(const Options& options) {
  Problem problem;
  problem.f = values_named("-f", options.f);
  problem.k = values_named("-k", options.k);
  problem.mean = options.mean == "harmonic" ? FaceMean::harmonic : FaceMean::arithmetic;
  if (!options.boundary.empty()) set_boundary(problem, options.boundary);
  take_size_from_arrays(problem);
  if (!options.size.empty()) {
    const Pair size = size_of(options.size);
    problem.rows = static_cast<std::size_t>(size.first);
    problem.columns = static_cast<std::size_t>(size.second);
  }
  check(problem);
  return problem;
}

void check_settings(const Settings& settings) {
  if (settings.tolerance > 0 && settings.tolerance < 1) return;
  throw core::UsageError(
      fmt::format("--tolerance: {} is not between 0 and 1; at 1, no iteration would be left to do",
                  settings.tolerance));
}

void check_outputs(const Options& options) {
  options.solver.json.check();
  if (!options.output.empty()) require_writable_file("-o ", options.output);
  if (!options.picture.empty()) require_writable_file("--picture ", options.picture);
}

// Where nothing is said, no more ranks than the mesh has room for.
comm::LaunchOptions launch_options(const Options& options, const Problem& problem) {
  comm::LaunchOptions launch = options.solver.launch_options();
  if (launch.ranks == 0 && comm::transport_of(launch) == comm::TransportKind::shm) {
    launch.ranks = most_ranks(comm::ranks_on_shm(launch), problem);
  }
  if (launch.ranks > 0) choose_grid(launch.ranks, problem, launch.grid);
  return launch;
}

Extras extras_of(const Options& options, const Problem& problem) {
  return {.values = !options.output.empty() || !options.picture.empty(),
          .proof = options.settings.prove || needs_proof(problem)};
}

// Then no process knows the memory of all before they talk.
bool on_several_machines(const comm::LaunchOptions& launch) {
  return comm::transport_of(launch) == comm::TransportKind::mpi;
}

Outcome run(const Options& options, const Problem& problem, const comm::LaunchOptions& launch,
            comm::Comm& comm) {
  Settings settings = options.settings;
  settings.grid = launch.grid;
  settings.measure_limit = true;
  const Extras extras = extras_of(options, problem);
  if (on_several_machines(launch)) {
    check_memory(problem, extras, comm::usable_memory_of_all(comm));
  }
  std::vector<double> values;
  Outcome outcome = solve(comm, problem, settings, extras.values ? &values : nullptr);
  if (comm.rank() != 0 || !outcome.solution.check.passed()) return outcome;
  if (!options.output.empty()) {
    solver::write_npy(options.output, problem.rows, problem.columns, values);
  }
  if (!options.picture.empty()) {
    solver::write_png(options.picture, solver::picture_of(problem.rows, problem.columns, values));
  }
  return outcome;
}

double share_of_proof(const Outcome& outcome) {
  return outcome.proof.seconds / (outcome.proof.seconds + outcome.solution.seconds);
}

// What is known of the error of u.
std::string error_text(const Outcome& outcome) {
  const Proof& proof = outcome.proof;
  if (!proof.asked) return "error of u: not bounded; --prove bounds it\n";
  const std::string cost =
      fmt::format("{} more iterations, {}, {:.0f} % of the whole time", proof.iterations,
                  core::format_seconds(proof.seconds), 100 * share_of_proof(outcome));
  const int digits = static_cast<int>(std::clamp(-std::log10(proof.bound), 0.0, 16.0));
  if (digits == 0) return fmt::format("error of u: no digit is proved ({})\n", cost);
  return fmt::format("error of u: at most {:.2g} of its largest value, {} digits proved ({})\n",
                     proof.bound, digits, cost);
}

std::string text_of(const Outcome& outcome) {
  const double points = static_cast<double>(outcome.rows) * static_cast<double>(outcome.columns) *
                        static_cast<double>(outcome.iterations);
  return fmt::format(
      "{} x {} unknowns on {} x {} ranks: {}{} iterations, {:.3g} ns per unknown and iteration\n"
      "{}{}rates count {:.0f} operations per unknown and iteration (the least is {:.0f}); {:.0f} "
      "bytes pass\n",
      outcome.rows, outcome.columns, outcome.solution.rows, outcome.solution.columns,
      outcome.converged ? "" : "not yet converged after ", outcome.iterations,
      points > 0 ? 1e9 * outcome.solution.seconds / points : 0, solution_text(outcome.solution),
      error_text(outcome), kOperations, kLeastOperations, outcome.bytes_per_unknown);
}

lab::Json json_of(const Outcome& outcome) {
  lab::Json json = to_json(outcome.solution);
  json["unknowns"] = {outcome.rows, outcome.columns};
  json["iterations"] = outcome.iterations;
  json["converged"] = outcome.converged;
  const Proof& proof = outcome.proof;
  json["error_bound"] = std::isfinite(proof.bound) ? lab::Json(proof.bound) : lab::Json(nullptr);
  json["proof"] = proof.asked ? lab::Json{{"iterations", proof.iterations},
                                          {"seconds", proof.seconds},
                                          {"share_of_time", share_of_proof(outcome)}}
                              : lab::Json(nullptr);
  json["operations_per_unknown_and_iteration"] = kOperations;
  json["least_operations_per_unknown_and_iteration"] = kLeastOperations;
  json["bytes_per_unknown_and_iteration"] = outcome.bytes_per_unknown;
  return json;
}

int scg(const Options& options) {
  check_settings(options.settings);
  const Problem problem = problem_of(options);
  const comm::LaunchOptions launch = launch_options(options, problem);
  if (!on_several_machines(launch)) {
    check_memory(problem, extras_of(options, problem), comm::usable_memory());
  }
  check_outputs(options);
  const auto outcome = comm::launch_result<Outcome>(
      launch, [&](comm::Comm& comm) { return run(options, problem, launch, comm); });
  if (!outcome) return kOk;  // rank 0 reports
  if (!options.solver.quiet && !options.solver.json.to_stdout()) {
    fmt::print("{}", text_of(*outcome));
  }
  options.solver.json.write(json_of(*outcome));
  return outcome->solution.check.passed() ? kOk : kVerification;
}

Definition define() {
  const auto options = std::make_shared<Options>();
  return {
      table(
          {{"-n N|RxC", &options->size,
            "Unknowns on each side, or rows and columns of them, on a rectangle of width 1 "
            "(default: as the arrays given, or 400)"},
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
            "What is known on the sides north (row 0), south, west and east: u, a square beyond "
            "the "
            "outermost unknowns, or neumann: k du/dn, on their outer faces; a number or an NPY "
            "file "
            "from west to east or north to south; for example "
            "west=1,east=neumann,south=neumann:0.5 "
            "(default: u is 0)"},
           {"--tolerance X", &options->settings.tolerance,
            "Stop where the residual has fallen to X times its first norm; the largest error, in "
            "parts of the largest u, where it is proved (default 2e-12)"},
           {"--iterations N",
            &options->settings.most_iterations,
            "Fail if N iterations, those of the proof included, do not suffice (default: 20 for "
            "each row and column, at least 10000, and ten times as many for the proof)",
            {.range = kAboveZero}},
           {"--prove", &options->settings.prove,
            "Prove a bound on the error of u, and iterate until it is within the tolerance; always "
            "done where k varies by more than 10000"},
           {"-o,--output FILE", &options->output,
            "Write u, if it passes the check, to an NPY file"},
           {"--picture FILE", &options->picture,
            "Write a picture of u, if it passes, to a PNG file"}},
          options->solver.rows()),
      [options](const Given&) { return scg(*options); }};
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
