#include "tabane/tools/slalom/largest.h"

#include <fmt/format.h>

#include <optional>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_path.h"
#include "tabane/core/scratch_folder.h"
#include "tabane/solver/blas.h"

namespace tabane::slalom {
namespace {

bool passed(const Outcome& outcome) {
  return outcome.row_sums.passed() && outcome.solution.check.passed();
}

}  // namespace

Outcome solve_largest(comm::Comm& comm, const Problem& problem, const Limits& limits,
                      const std::function<void(const Trial&)>& on_trial) {
  const bool is_root = comm.rank() == 0;
  std::optional<core::ScratchFolder> folder;  // for files of runs that may last too long
  Problem one = problem;
  if (is_root) {
    folder.emplace("slalom");
    one.answer = *folder / "answer";
    if (!problem.picture.empty()) one.picture = *folder / "picture.png";
  }
  std::optional<Outcome> best;
  bool failed = false;
  const auto run = [&](int patches) {
    one.patches = patches;
    Outcome outcome = solve(comm, one);
    double seconds = outcome.solution.seconds;
    comm::broadcast(comm, seconds, 0);
    if (is_root) on_trial({patches, seconds});
    failed = !passed(outcome);
    const bool better = seconds < limits.seconds && (!best || patches > best->patches);
    if (!failed && !better) return seconds;
    best = std::move(outcome);
    if (is_root && !failed) {
      if (!problem.answer.empty()) {
        core::write_output(problem.answer, core::read_file(one.answer));
      }
      if (!problem.picture.empty()) {
        core::write_output(problem.picture, core::read_file(one.picture));
      }
    }
    return failed ? -1.0 : seconds;
  };
  largest_in(limits, solver::measure_product_rate(comm), run);
  if (!best) {
    throw core::Error(fmt::format("no number of patches was solved in {} s", limits.seconds));
  }
  return *best;
}

}  // namespace tabane::slalom
