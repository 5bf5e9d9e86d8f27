#include "tabane/studies/ap1000_applications/ap1000_applications.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/launch.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/record/text.h"
#include "tabane/solver/picture.h"
#include "tabane/tools/linpack/solve.h"
#include "tabane/tools/scg/solve.h"
#include "tabane/tools/slalom/solve.h"

namespace tabane::lab {
namespace {

using namespace ap1000_applications;
using solver::Solution;

constexpr About kAboutApplications = {
    "ap1000-applications", "LINPACK, SCG and SLALOM: what the mechanisms are worth to applications",
    "T. Shimizu, T. Horie, H. Ishihata (Fujitsu Laboratories): Performance evaluation of the "
    "AP1000 (64 to 512 SPARC cells), 1992"};

comm::LaunchOptions launch_options(int ranks, std::string_view mechanisms) {
  comm::LaunchOptions options{.ranks = ranks, .transport = comm::TransportKind::shm};
  options.choice_rules = comm::rules_of(comm::mechanisms_named(mechanisms));
  return options;
}

solver::Solution solve_linpack(comm::Comm& comm, int n, const core::ScratchFolder& /*inputs*/) {
  return linpack::solve(comm, linpack::RandomSystem(n, 1), {.measure_limit = true}).solution;
}

solver::Solution solve_scg(comm::Comm& comm, int n, const core::ScratchFolder& /*inputs*/) {
  const auto side = static_cast<std::size_t>(n);
  const scg::Problem problem{.rows = side, .columns = side};
  return scg::solve(comm, problem, {.measure_limit = true}).solution;
}

slalom::Problem box_problem(int n, const core::ScratchFolder& inputs) {
  return {.geometry = inputs / "geom", .patches = n, .answer = inputs / "answer"};
}

solver::Solution solve_slalom(comm::Comm& comm, int n, const core::ScratchFolder& inputs) {
  return slalom::solve(comm, box_problem(n, inputs)).solution;
}

// Solves a problem once, and keeps the solutions of the last one.
class ApplicationRunner {
 public:
  ApplicationRunner() { core::write_file(folder_ / "geom", slalom::default_geometry_text()); }

  // Ctrl-C waits for the end of the run.
  solver::Solution solve(const Application& application, int n,
                         const comm::LaunchOptions& options) const {
    const BlockInterrupts hold;
    return comm::launch_result<solver::Solution>(
               options, [&](comm::Comm& comm) { return application.solve(comm, n, folder_); })
        .value();
  }
  double product_rate(const comm::LaunchOptions& options) const {
    const BlockInterrupts hold;
    return comm::launch_result<double>(
               options, [](comm::Comm& comm) { return solver::measure_product_rate(comm); })
        .value();
  }
  Pictures pictures() const;
  LastRuns last;

 private:
  core::ScratchFolder folder_{"applications"};
};

Pictures ApplicationRunner::pictures() const {
  const BlockInterrupts hold;
  const comm::LaunchOptions options = launch_options(1, "all");
  slalom::Problem box = box_problem(600, folder_);
  box.picture = folder_ / "box.png";
  comm::launch(options, [&](comm::Comm& comm) { slalom::solve(comm, box); });
  constexpr std::size_t kSide = 200;
  const auto mesh = comm::launch_result<std::string>(options, [&](comm::Comm& comm) {
    std::vector<double> values;
    scg::solve(comm, {.rows = kSide, .columns = kSide}, {}, &values);
    return solver::png_of(solver::picture_of(kSide, kSide, values));
  });
  return {to_base64(core::read_file(box.picture)), to_base64(mesh.value())};
}

Sample sample_of(const Application& application, const solver::Solution& solution) {
  if (!solution.check.passed()) {
    throw core::VerificationError(application.title, solution.check.residual,
                                  solution.check.tolerance);
  }
  Sample sample{
      .seconds = solution.seconds,
      .beside = {{"operations", solution.operations},
                 {"limit_per_second",
                  solution.limit > 0 ? solution.limit : std::numeric_limits<double>::quiet_NaN()}}};
  for (const char* name : application.steps) {
    const auto found = std::ranges::find(solution.steps.names, name);
    if (found == solution.steps.names.end()) continue;
    const auto step = static_cast<std::size_t>(found - solution.steps.names.begin());
    sample.beside.emplace_back(name, solution.steps.mean_seconds(step));
  }
  return sample;
}

// All ranks and mechanisms of one problem, in turn.
Block block_of(ApplicationRunner& runner, const Application& application, int n,
               const std::vector<int>& ranks, bool quick) {
  std::vector<Contender> contenders;
  for (const int p : ranks) {
    for (const std::string_view mechanisms : comm::kMechanismNames) {
      if (p == 1 && mechanisms != "all") continue;  // one rank uses none of them
      const Factors factors{{"application", application.name},
                            {"n", n},
                            {"ranks", p},
                            {"mechanisms", std::string(mechanisms)}};
      contenders.push_back({factors, [&runner, &application, factors, n, p, mechanisms] {
                              solver::Solution solution =
                                  runner.solve(application, n, launch_options(p, mechanisms));
                              const Sample sample = sample_of(application, solution);
                              runner.last[key_of(factors)] = std::move(solution);
                              return sample;
                            }});
    }
  }
  return block_in_turn(fmt::format("{}, {} {}", application.title, n, application.size),
                       std::move(contenders),
                       {.fewest = quick ? 2 : 3, .most = quick ? 3 : 12, .warmups = 1});
}

// As many patches as can be solved in the time that the benchmark gives.
Block block_of_largest(ApplicationRunner& runner, const Application& box, double seconds,
                       const std::vector<int>& ranks) {
  Block block{.what = fmt::format("SLALOM, patches in {:g} s", seconds),
              .planned_seconds = 4 * seconds * static_cast<double>(ranks.size())};
  block.body = [&runner, &box, seconds, ranks](Visit& visit) {
    for (const int p : ranks) {
      const comm::LaunchOptions options = launch_options(p, "all");
      solver::Solution best;
      const int largest =
          slalom::largest_in({.seconds = seconds}, runner.product_rate(options), [&](int n) {
            visit.show(0.5);
            solver::Solution solution = runner.solve(box, n, options);
            if (solution.seconds < seconds) best = solution;
            return solution.seconds;
          });
      visit.add({{"application", "slalom in time"}, {"ranks", p}, {"seconds", seconds}},
                {best.seconds}, {{"patches", largest}, {"operations", best.operations}});
    }
  };
  return block;
}

std::string ap1000_applications_what(const Point& point) {
  const std::string application = point.text("application");
  if (application == "slalom in time") return "SLALOM, the most patches in the time given";
  return application + ", mechanisms: " + point.text("mechanisms");
}

}  // namespace

namespace ap1000_applications {

const std::vector<Application>& applications() {
  static const std::vector<Application> all{
      {"linpack",
       "LINPACK",
       "equations",
       {"panel", "pivot", "swap", "broadcast", "waiting", "update", "substitution"},
       {"pivot", "swap", "broadcast", "waiting"},
       {1000, 2000, 4000},
       {1000},
       solve_linpack},
      {"scg",
       "SCG",
       "unknowns a side",
       {"direction", "update", "halo", "waiting", "reductions", "rest"},
       {"halo", "waiting", "reductions"},
       {100, 200, 400},
       {100, 200},
       solve_scg},
      {"slalom",
       "SLALOM",
       "patches",
       {"reader", "region", "set-up", "first face", "factor panel", "update", "broadcast",
        "waiting", "substitution", "gather", "storer"},
       {"broadcast", "waiting", "gather"},
       {500, 1000, 2000},
       {500},
       solve_slalom}};
  return all;
}

std::string key_of(const Factors& factors) {
  std::string key;
  for (const Factor& factor : factors) key += factor.name + "=" + factor.level.text() + ";";
  return key;
}

}  // namespace ap1000_applications

std::optional<Record> run_ap1000_applications(const core::Topology& topology,
                                              const Ap1000ApplicationsOptions& options,
                                              const Hooks& hooks) {
  RunningStudy study(topology, kAboutApplications, options.quick);
  if (comm::is_one_of_several()) {
    throw core::UsageError(
        "the study starts its ranks itself: run it without an MPI launcher, or one of tabane "
        "linpack, scg and slalom under it");
  }
  require_option(options.most_ranks >= 0 && options.most_ranks <= kMostRanksForked, "--ranks",
                 options.most_ranks, "from 1 to 4096");
  require_option(options.seconds >= 0 && options.seconds <= 3600, "--seconds", options.seconds,
                 "from 1 to 3600");
  const std::vector<int> ranks = plan_ranks_from_one(options.most_ranks, topology);
  ApplicationRunner runner;
  Campaign campaign(hooks);
  for (const Application& application : applications()) {
    for (const int n : options.quick ? application.quick_sizes : application.sizes) {
      campaign.add(block_of(runner, application, n, ranks, options.quick));
    }
  }
  const double usual = options.quick ? 2 : 10;
  campaign.add(block_of_largest(runner, applications().back(),
                                options.seconds > 0 ? options.seconds : usual, ranks));
  const double budget = options.quick ? 20 : 120;
  const bool complete = campaign.run(
      {.budget_seconds = options.budget_seconds > 0 ? options.budget_seconds : budget});
  study.add(campaign, complete, ap1000_applications_what);
  add_views(study.record, campaign.points, runner.last, runner.pictures());
  return study.finish();
}

}  // namespace tabane::lab
