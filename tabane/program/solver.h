// A solver as a verb runs it: options, memory, ranks, report and exit code.
#pragma once

#include <cstdio>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/comm/launch.h"
#include "tabane/comm/simulated_run.h"
#include "tabane/program/output.h"
#include "tabane/program/progress.h"
#include "tabane/solver/solution.h"

namespace tabane::program {

// An option that names a file to write: "-o ", and the file; empty: it was not given.
struct OutputFile {
  const char* flag;
  std::string file;
};

struct SolverOptions {
  int ranks = 0;  // 0: one per PU
  std::string grid, transport = "auto", mechanisms = "all";
  std::string machine, machine_changes;    // that is simulated; empty: none
  std::string page;                        // directory of a page about it; empty: none
  comm::SimulatedRun* recorded = nullptr;  // what is to be filled
  bool quiet = false;
  JsonOption json;

  // --ranks, --grid, --transport, --mechanisms, --json and -q.
  std::vector<Option> rows();
  // --machine and --page, for solvers that say what they compute.
  std::vector<Option> machine_rows();
  bool is_simulated() const { return !machine.empty(); }
  // throws: core::UsageError if a value cannot be meant.
  comm::LaunchOptions launch_options() const;
  // throws: core::UsageError naming the first file, that of --json among them, that cannot be
  // written.
  void check_outputs(std::initializer_list<OutputFile> files) const;
};

// "2x3". throws: core::UsageError naming the flag.
std::pair<int, int> pair_of(const std::string& flag, const std::string& text);

// Checks once whether the memory of all ranks suffices: before they start where all are on this
// machine; under MPI on the ranks, since no process knows before what all have.
class MemoryCheck {
 public:
  // check: throws if so many ranks with so many bytes together have too little.
  MemoryCheck(const comm::LaunchOptions& launch,
              std::function<void(int ranks, double bytes)> check);
  // All ranks call it. throws: as `check`.
  void on_ranks(comm::Comm& comm) const;

 private:
  bool under_mpi_;
  std::function<void(int ranks, double bytes)> check_;
};

// "2.31 s, 55.3 GFLOP/s, 81 % of DGEMM on all ranks (68.2 GFLOP/s)", the check, what else is known
// of the answer, and a table of the steps: seconds of the mean and of the slowest rank, share,
// calls.
std::string solution_text(const solver::Solution& solution, const std::string& answer = "");

// Answer: has a `solution`, and fields() by which it is sent.
template <class Answer>
struct Solver {
  std::function<Answer(comm::Comm&)> solve;        // all ranks call it; rank 0's answer counts
  std::function<std::string(const Answer&)> text;  // of the report
  std::function<void(const Answer&, lab::Json&)> add_keys;  // to those that all solvers have
  std::function<void(const Answer&)> review = {};           // before the report: may warn, or throw
  std::FILE* text_to = stdout;
};

// "waiting for 4 ranks"
std::string awaited_text(int ranks);
lab::Json to_json(const solver::Solution& solution);
// Prints the text unless the options say otherwise, and writes the JSON.
void report(const SolverOptions& options, std::FILE* text_to,
            const std::function<std::string()>& text, const lab::Json& json);

// On a simulated machine: fills options.recorded, and ends the run by lab::Stopped after Ctrl-C
// where StopOnSignal catches that.
void watch(comm::Comm& comm, const SolverOptions& options);

// For solvers with machine_rows(): returns what solve() returns, which calls run_solver() with the
// same options. With --page, first calls it for each machine of the page: with changes, and with
// fewer ranks.
int solve_with_page(SolverOptions& options, const Given& given, const std::function<int()>& solve);

// Solves and reports. Returns the exit code: whether the answer has passed its check.
template <class Answer>
int run_solver(const SolverOptions& options, const comm::LaunchOptions& launch,
               const Solver<Answer>& solver) {
  const std::optional<Answer> answer = comm::launch_result<Answer>(launch, [&](comm::Comm& comm) {
    const AwaitedLine line(awaited_text(comm.size()), comm.rank() == 0 && !options.quiet);
    if (comm.rank() == 0) watch(comm, options);
    return solver.solve(comm);
  });
  if (!answer) return kOk;  // under MPI rank 0 reports
  if (solver.review) solver.review(*answer);
  lab::Json json = to_json(answer->solution);
  if (options.is_simulated()) json["simulated_machine"] = options.machine;
  solver.add_keys(*answer, json);
  report(
      options, solver.text_to, [&] { return solver.text(*answer); }, json);
  return answer->solution.check.passed() ? kOk : kVerification;
}

}  // namespace tabane::program
