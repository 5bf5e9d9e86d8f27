#include "tabane/tools/slalom/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_path.h"
#include "tabane/core/scratch_folder.h"
#include "tabane/core/units.h"
#include "tabane/solver/blas.h"
#include "tabane/tools/slalom/answer.h"
#include "tabane/tools/slalom/light.h"
#include "tabane/tools/slalom/substitute.h"
#include "tabane/tools/slalom/verify.h"

namespace tabane::slalom {
namespace {

class Run {
 public:
  Run(comm::Comm& comm, const Problem& problem)
      : problem_(problem),
        grid_(comm, grid_of(comm.size(), problem.grid)),
        steps_(comm, {"reader", "region", "set-up", "first face", "factor panel", "update",
                      "broadcast", "waiting", "substitution", "gather", "storer", "other"}) {}

  Outcome run() {
    double limit = measure_limit();
    timed();
    // The better of two: other programs may have taken a PU during one.
    limit = std::max(limit, measure_limit());
    Outcome outcome{.patches = problem_.patches, .block = couplings_->distribution().rows.block};
    outcome.row_sums = row_sums_;
    solver::Solution& solution = outcome.solution;
    solution.ranks = grid_.all().size();
    solution.rows = grid_.rows();
    solution.columns = grid_.columns();
    solution.steps = steps_.gather();
    solution.seconds = solution.steps.seconds_of_slowest();
    solution.operations = counted_operations(geometry_, problem_.patches, Revision::r126);
    solution.limit = limit;
    solution.limit_is = "DGEMM on all ranks";
    solution.check = outcome.row_sums;
    if (!outcome.row_sums.passed()) return outcome;
    outcome.performed = performed_operations(region_.count(0), problem_.patches);
    finish(outcome);
    return outcome;
  }

 private:
  // It takes longer than a problem that is too small to come near it: 0 then.
  double measure_limit() {
    constexpr int kFewPatches = 1000;
    return problem_.patches < kFewPatches ? 0 : solver::measure_product_rate(grid_.all());
  }

  bool is_root() { return grid_.all().rank() == 0; }

  // From opening the geometry to closing the answer.
  void timed() {
    const auto other = steps_.in(kOther);
    comm::barrier(grid_.all());
    {
      const auto in = steps_.in(kReader);
      if (is_root()) geometry_ = read_geometry(problem_.geometry);
      comm::broadcast(grid_.all(), geometry_, 0);
    }
    {
      const auto in = steps_.in(kRegion);
      region_ = cut_into_patches(geometry_, problem_.patches);
    }
    {
      const auto in = steps_.in(kSetUp);
      set_up();
    }
    if (!row_sums_.passed()) return;
    Factors factors(*couplings_);
    factors.compute(geometry_, region_, grid_, steps_);
    radiosities_ = substitute(geometry_, region_, *couplings_, factors, grid_, steps_);
    const auto in = steps_.in(kStorer);
    if (!is_root()) return;
    // Where nobody takes it for right before it has been checked.
    folder_.emplace("slalom");
    core::write_file(*folder_ / "answer", answer_text(geometry_, region_, radiosities_));
  }

  void set_up() {
    const int first_face = region_.count(0);
    const comm::GridShape shape{grid_.rows(), grid_.columns()};
    const int block =
        problem_.block > 0 ? problem_.block : default_block(problem_.patches - first_face, shape);
    couplings_.emplace(
        distribute(first_face, problem_.patches, shape, grid_.my_row(), grid_.my_column(), block));
    couplings_->compute(geometry_, region_, grid_.all());
    row_sums_ = {worst_row_sum(region_, couplings_->sums()), kRowSumTolerance};
  }

  // What is not timed.
  void finish(Outcome& outcome) {
    radiosities_.resize(static_cast<std::size_t>(kColours * problem_.patches));
    comm::broadcast(grid_.all(), radiosities_, 0);
    outcome.solution.check = verify(geometry_, region_, couplings_->distribution(),
                                    couplings_->sums(), radiosities_, grid_.all());
    if (!is_root() || !outcome.solution.check.passed()) return;
    if (!problem_.answer.empty()) {
      core::write_output(problem_.answer, core::read_file(*folder_ / "answer"));
    }
    if (!problem_.picture.empty()) {
      solver::write_png(problem_.picture, picture_of_light(geometry_, region_, radiosities_));
    }
  }

  const Problem& problem_;
  comm::Grid grid_;
  comm::Steps steps_;
  Geometry geometry_;
  Region region_;
  std::optional<Couplings> couplings_;
  solver::Check row_sums_;
  std::vector<double> radiosities_;
  std::optional<core::ScratchFolder> folder_;  // of the answer
};

}  // namespace

void check(const Geometry& geometry, int patches, comm::GridShape grid, int block,
           double usable_bytes) {
  cut_into_patches(geometry, patches);
  const std::size_t bytes = bytes_of_ranks(geometry, patches, grid, block);
  if (static_cast<double>(bytes) <= usable_bytes) return;
  throw core::Error(fmt::format(
      "{} patches take {} of memory, and {} can be used: at most {} patches fit", patches,
      core::format_bytes(bytes), core::format_bytes(static_cast<std::uint64_t>(usable_bytes)),
      most_patches(geometry, usable_bytes, grid, block)));
}

Outcome solve(comm::Comm& comm, const Problem& problem) { return Run(comm, problem).run(); }

}  // namespace tabane::slalom
