// What the solvers share on the command line: options of ranks, the report, the exit code.
#pragma once

#include <string>
#include <vector>

#include "tabane/comm/launch.h"
#include "tabane/program/output.h"
#include "tabane/solver/solution.h"

namespace tabane::program {

struct SolverOptions {
  int ranks = 0;  // 0: one per PU
  std::string grid, transport = "auto", mechanisms = "all";
  bool quiet = false;
  JsonOption json;

  // --ranks, --grid, --transport, --mechanisms, --json and -q.
  std::vector<Option> rows();
  // throws: core::UsageError if a value cannot be meant.
  comm::LaunchOptions launch_options() const;
};

// "2x3". throws: core::UsageError naming the flag.
struct Pair {
  int first = 0, second = 0;
};
Pair pair_of(const std::string& flag, const std::string& text);

// "2.31 s, 55.3 GFLOP/s, 81 % of DGEMM on all ranks (68.2 GFLOP/s)", the check, what else is said
// of the answer, and a table of the steps: seconds of the mean and of the slowest rank, share,
// calls.
std::string solution_text(const solver::Solution& solution, const std::string& answer = "");
lab::Json to_json(const solver::Solution& solution);

}  // namespace tabane::program
