#include "tabane/tools/slalom/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/solver/model.h"
#include "tabane/tools/slalom/factors.h"
#include "tabane/tools/slalom/results.h"

namespace tabane::slalom {

double counted_operations(const Geometry& geometry, int patches, Revision revision) {
  const std::array<int, kFaces + 1> begin = share_patches(geometry, patches);
  std::array<double, kFaces> p{};
  double squares = 0, columns = 0;
  for (int face = 0; face < kFaces; ++face) {
    const auto i = static_cast<std::size_t>(face);
    p[i] = begin[i + 1] - begin[i];
    squares += p[i] * p[i];
    columns += std::floor(std::sqrt(p[i] * geometry.width(face) / geometry.height(face)) + 0.5);
  }
  const double n = patches, f = p[0] + 1;
  const double opposite = p[0] * p[3] + p[1] * p[4] + p[2] * p[5];
  const double adjacent = (n * n - squares - 2 * opposite) / 2;
  const double reader = 258, region = 154 + 8 * columns + n, storer = solver::kTextOperations * n;
  const double set_up = revision == Revision::r126 ? 6 + 532 * opposite + 8 * n + 370 * adjacent
                                                   : 3 + 840 * opposite + 430 * adjacent;
  const double systems = 72 + 9 * n + n * n - squares;
  const double solver = n * n * n + 7.5 * n * n - 2.5 * n - 21 + f * (2 * f * f - 16.5 * f + 35.5) +
                        n * f * (9 - 3 * f);
  return reader + region + set_up + systems + solver + storer;
}

double performed_operations(int first_face, int patches) {
  const double rest = patches - first_face;
  return rest * rest * patches;
}

std::size_t bytes_of_ranks(const Geometry& geometry, int patches, comm::GridShape grid, int block) {
  const int first_face = share_patches(geometry, patches)[1];
  if (block == 0) block = default_block(patches - first_face, grid);
  std::size_t bytes = 0;
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      const Distribution part = distribute(first_face, patches, grid, row, column, block);
      bytes +=
          Couplings::bytes(part) + LdlFactors::bytes(part) + PanelExchange::bytes(part, kColours);
    }
  }
  return bytes;
}

int most_patches(const Geometry& geometry, double bytes, comm::GridShape grid, int block) {
  int fit = 0, too_many = 1 << 20;
  while (too_many - fit > 1) {
    const int middle = fit + (too_many - fit) / 2;
    (static_cast<double>(bytes_of_ranks(geometry, middle, grid, block)) <= bytes ? fit : too_many) =
        middle;
  }
  return fit;
}

namespace {

class BoxSolver {
 public:
  BoxSolver(comm::Comm& comm, const Problem& problem)
      : problem_(problem),
        grid_(comm, grid_of(comm.size(), problem.grid)),
        steps_(make_steps(comm)) {}

  SolvedBox run() {
    double limit = measure_limit();
    timed();
    // The better of two: other programs may have taken a PU during one.
    limit = std::max(limit, measure_limit());
    SolvedBox answer{.patches = problem_.patches, .block = couplings_->distribution().rows.block};
    answer.row_sums = row_sums_;
    solver::Solution& solution = answer.solution;
    solution.ranks = grid_.all().size();
    solution.rows = grid_.rows();
    solution.columns = grid_.columns();
    solution.steps = steps_.gather();
    solution.seconds = solution.steps.seconds_of_slowest();
    solution.operations = counted_operations(geometry_, problem_.patches, Revision::r126);
    solution.limit = limit;
    solution.limit_is = "DGEMM on all ranks";
    solution.check = answer.row_sums;
    if (!answer.row_sums.passed()) return answer;
    answer.performed = performed_operations(region_.count(0), problem_.patches);
    finish(answer);
    return answer;
  }

 private:
  // Returns 0 for ranks that take turns on PUs, and for a problem that is too small to come near
  // the limit: measuring would take longer.
  double measure_limit() {
    constexpr int kFewPatches = 1000;
    const bool is_far = problem_.patches < kFewPatches || grid_.all().transport().crowded();
    return !problem_.measure_limit || is_far ? 0 : solver::measure_product_rate(grid_.all());
  }

  bool is_root() { return grid_.all().rank() == 0; }

  // From opening the geometry to closing the answer.
  void timed() {
    const auto other = steps_.in(kOther);
    comm::barrier(grid_.all());
    steps_.in(kReader, [&] {
      if (is_root()) geometry_ = read_geometry(problem_.geometry);
      comm::broadcast(grid_.all(), geometry_, 0);
    });
    region_ = steps_.in(kRegion, [&] { return cut_into_patches(geometry_, problem_.patches); });
    steps_.in(kSetUp, [&] { set_up(); });
    if (!row_sums_.passed()) return;
    LdlFactors factors(*couplings_);
    factors.compute(geometry_, region_, grid_, steps_);
    radiosities_ = substitute(geometry_, region_, *couplings_, factors, grid_, steps_);
    const auto in = steps_.in(kStorer);
    if (!is_root()) return;
    // In a folder of its own: nobody should use it before it has been checked.
    folder_.emplace("slalom");
    grid_.all().compute(
        {.kind = solver::kText, .operations = solver::kTextOperations * region_.size()});
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
  void finish(SolvedBox& answer) {
    radiosities_.resize(kColours * problem_.patches);
    comm::broadcast(grid_.all(), radiosities_, 0);
    answer.solution.check = verify(geometry_, region_, couplings_->distribution(),
                                   couplings_->sums(), radiosities_, grid_.all());
    if (!is_root() || !answer.solution.check.passed()) return;
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

// Returns n for that time by t = a n^2 + b n^3 through both runs, with a, b >= 0.
double patches_for(double seconds, const TimedRun& first, const TimedRun& second) {
  const double n1 = first.patches, n2 = second.patches;
  const double u = first.seconds / (n1 * n1), v = second.seconds / (n2 * n2);
  double b = n1 == n2 ? v / n2 : (v - u) / (n2 - n1);
  b = std::clamp(b, 0.0, v / n2);
  const double a = v - b * n2;
  double n = n2;
  for (int step = 0; step < 50; ++step) {  // Newton; the function is convex and grows
    const double value = n * n * (a + b * n) - seconds;
    n -= value / (n * (2 * a + 3 * b * n));
  }
  return n;
}

bool passed(const SolvedBox& answer) {
  return answer.row_sums.passed() && answer.solution.check.passed();
}

}  // namespace

void check(const Geometry& geometry, int patches, comm::GridShape grid, int block,
           double usable_bytes) {
  cut_into_patches(geometry, patches);
  const auto bytes = static_cast<double>(bytes_of_ranks(geometry, patches, grid, block));
  solver::require_memory<core::Error>(
      bytes, usable_bytes, [&](const auto& needed, const auto& usable) {
        return fmt::format(
            "{} patches take {} of memory, and {} can be used: at most {} patches fit", patches,
            needed, usable, most_patches(geometry, usable_bytes, grid, block));
      });
}

SolvedBox solve(comm::Comm& comm, const Problem& problem) { return BoxSolver(comm, problem).run(); }

int largest_in(const SearchLimits& limits, double rate, const std::function<double(int)>& run) {
  constexpr double kAim = 0.985, kFirst = 0.02, kNearEnough = 0.01;
  int solved = 0, too_many = limits.most + 1;
  TimedRun before, last;
  double next = std::cbrt(kFirst * limits.seconds * rate);
  for (int trial = 0; trial < limits.most_runs; ++trial) {
    // Between one that was in time and one that was not, the model may name either of them again,
    // since runs of one size differ: each step removes a quarter at least.
    const bool between = solved > 0 && too_many <= limits.most;
    const double least = between ? solved + std::max(1.0, 0.25 * (too_many - solved)) : solved + 1;
    const double most = between ? too_many - 0.25 * (too_many - solved) : too_many - 1;
    const auto n = static_cast<int>(std::clamp(next, least, std::max(least, most)));
    if (n < limits.least) return solved;
    const double seconds = run(n);
    if (seconds < 0) return solved;
    (seconds < limits.seconds ? solved : too_many) = n;
    before = trial == 0 ? TimedRun{n, seconds} : last;
    last = {n, seconds};
    if (too_many - solved <= std::max(1.0, kNearEnough * solved)) break;
    if (solved == n && seconds >= 0.97 * limits.seconds) break;
    // From little time to much the model may err: the first steps stay below.
    const double aim = std::min(kAim * limits.seconds, 12 * seconds);
    next = patches_for(aim, before, last);
  }
  return solved;
}

SolvedBox solve_largest(comm::Comm& comm, const Problem& problem, const SearchLimits& limits,
                        const std::function<void(const TimedRun&)>& on_run) {
  const bool is_root = comm.rank() == 0;
  std::optional<core::ScratchFolder> folder;  // for files of runs that may last too long
  Problem one = problem;
  if (is_root) {
    folder.emplace("slalom");
    one.answer = *folder / "answer";
    if (!problem.picture.empty()) one.picture = *folder / "picture.png";
  }
  std::optional<SolvedBox> best;
  bool failed = false;
  const auto run = [&](int patches) {
    one.patches = patches;
    SolvedBox answer = solve(comm, one);
    double seconds = answer.solution.seconds;
    comm::broadcast(comm, seconds, 0);
    if (is_root) on_run({patches, seconds});
    failed = !passed(answer);
    const bool better = seconds < limits.seconds && (!best || patches > best->patches);
    if (!failed && !better) return seconds;
    best = std::move(answer);
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
    throw core::Error("no number of patches was solved in {} s", limits.seconds);
  }
  return *best;
}

}  // namespace tabane::slalom
