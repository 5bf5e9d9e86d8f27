#include "tabane/studies/ap1000_applications/ap1000_applications.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>

#include "tabane/comm/launch.h"
#include "tabane/comm/machine.h"
#include "tabane/tools/slalom/solve.h"

namespace tabane::lab {
namespace {

using namespace ap1000_applications;

constexpr About kAboutApplications = {
    "ap1000-applications", "LINPACK, SCG and SLALOM: what the mechanisms are worth to applications",
    "T. Shimizu, T. Horie, H. Ishihata (Fujitsu Laboratories): Performance evaluation of the "
    "AP1000 (4 to 512 cells), 1992"};

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

// What each simulated rank takes this computer, about: in all runs of a block, and in a search.
constexpr double kBlockSeconds = 0.025, kSearchSeconds = 0.05;

// What is to be measured, and what has been seen of it that is no figure of its own.
class Plan {
 public:
  Plan(Runner& runner, const Ap1000ApplicationsOptions& options, std::vector<int> ranks)
      : options_(options),
        runner_(runner),
        ranks_(std::move(ranks)),
        is_simulated_(!options.ranks.machine.empty()) {}

  // A problem with all sets of mechanisms in turn, on the most ranks or on all.
  Block block_of(const Application& application, int n);
  // As many patches as can be solved in the time that the benchmark gives, with each set.
  Block block_of_largest(const Application& box);
  // Counts calls, with each set on the most ranks.
  void count_calls();

  LastRuns last, counted;

 private:
  Run run_of(const Application& application, std::size_t set, int n, int ranks) const {
    Run run{.application = static_cast<int>(&application - applications(is_simulated_).data()),
            .set = static_cast<int>(set),
            .n = n,
            .ranks = ranks,
            .is_simulated = is_simulated_};
    if (is_simulated_) run.grid = comm::fit_grid(ranks);
    if (ranks == options_.grid.rows * options_.grid.columns) run.grid = options_.grid;
    return run;
  }
  Factors factors_of(const Run& run) const {
    const Application& application =
        applications(is_simulated_)[static_cast<std::size_t>(run.application)];
    return {{"application", application.name},
            {"n", run.n},
            {"ranks", run.ranks},
            {"mechanisms", application.sets[static_cast<std::size_t>(run.set)].name}};
  }

  const Ap1000ApplicationsOptions& options_;
  Runner& runner_;
  std::vector<int> ranks_;
  bool is_simulated_;
};

Block Plan::block_of(const Application& application, int n) {
  std::vector<Contender> contenders;
  const std::size_t all = application.sets.size() - 1;
  for (const int p : ranks_) {
    // One rank uses no mechanism.
    const bool each =
        p > 1 && ((p == ranks_.back() && !is_simulated_) || n == application.chart_size);
    for (std::size_t set = each ? 0 : all; set <= all; ++set) {
      const Run run = run_of(application, set, n, p);
      contenders.push_back({factors_of(run), [this, &application, run] {
                              Outcome outcome = runner_.solve(run);
                              const Sample sample = sample_of(application, outcome.solution);
                              last[key_of(factors_of(run))] = std::move(outcome);
                              return sample;
                            }});
    }
  }
  const bool quick = options_.quick;
  const double usual = quick ? 2 : 12;
  const Effort effort{.fewest = quick ? 2 : 3,
                      .most = quick ? 3 : 12,
                      .budget_seconds = options_.block_seconds > 0 ? options_.block_seconds : usual,
                      .warmups = 1};
  Block block{
      .what = fmt::format("{}, {} {}", application.title, n, application.size),
      .planned_seconds = is_simulated_ ? kBlockSeconds * ranks_.back() : effort.budget_seconds};
  for (const Contender& one : contenders) block.points.push_back(one.factors);
  block.body = [contenders = std::move(contenders), effort, this](Visit& visit) {
    if (!is_simulated_) return visit.in_turn(contenders, effort);
    double done = 0;  // a time that is known stays, and is the same each time
    for (const Contender& one : contenders) {
      visit.show(done++ / static_cast<double>(contenders.size()));
      const Sample sample = one.measure();
      visit.add(one.factors, {sample.seconds}, sample.beside);
    }
  };
  return block;
}

Block Plan::block_of_largest(const Application& box) {
  const double usual = is_simulated_ ? 60 : options_.quick ? 0.2 : 1;
  const double seconds = options_.seconds > 0 ? options_.seconds : usual;
  const std::size_t all = box.sets.size() - 1;
  std::vector<int> ranks = ranks_;
  if (options_.quick && is_simulated_) ranks.resize(1);
  if (options_.quick && ranks.size() > 2) ranks = {ranks.front(), ranks.back()};
  const std::size_t searches = 1 + (ranks.size() - 1) * box.sets.size();
  Block block{.what = fmt::format("SLALOM, patches in {:g} s", seconds),
              // Four or five runs of a search, whose answers take as long to verify.
              .planned_seconds = (8 * seconds + 0.7) * static_cast<double>(searches)};
  if (is_simulated_) {
    const int all_ranks = std::accumulate(ranks.begin(), ranks.end(), 0);
    block.planned_seconds = kSearchSeconds * all_ranks * static_cast<double>(box.sets.size());
  }
  block.body = [this, &box, seconds, all, searches, ranks](Visit& visit) {
    std::size_t done = 0;
    for (const int p : ranks) {
      const double rate = runner_.product_rate(p);
      for (std::size_t set = p > 1 ? 0 : all; set <= all; ++set, ++done) {
        solver::Solution best;
        const auto solve = [&](int n) {
          visit.show(static_cast<double>(done) / static_cast<double>(searches));
          const solver::Solution solution = runner_.solve(run_of(box, set, n, p)).solution;
          sample_of(box, solution);  // throws if it is wrong
          if (solution.seconds < seconds) best = solution;
          return solution.seconds;
        };
        const int largest = slalom::largest_in({.seconds = seconds}, rate, solve);
        if (best.seconds == 0) {
          visit.skip(fmt::format("SLALOM on {} ranks, {}", p, box.sets[set].name),
                     "no number of patches was solved in the time given");
          continue;
        }
        visit.add({{"application", "slalom in time"},
                   {"ranks", p},
                   {"mechanisms", box.sets[set].name},
                   {"seconds", seconds}},
                  {best.seconds}, {{"patches", largest}, {"operations", best.operations}});
      }
    }
  };
  return block;
}

void Plan::count_calls() {
  if (ranks_.back() == 1) return;
  for (const Application& application : applications()) {
    for (std::size_t set = 0; set < application.sets.size(); ++set) {
      Run run = run_of(application, set, application.chart_size, ranks_.back());
      run.counts = true;
      counted[key_of(factors_of(run))] = runner_.solve(run);
    }
  }
}

std::string ap1000_applications_what(const Point& point) {
  const std::string application = point.text("application"), with = point.text("mechanisms");
  if (application == "slalom in time")
    return "SLALOM, the most patches in the time given, mechanisms: " + with;
  return application + ", mechanisms: " + with;
}

Record measure(const core::Topology& topology, const Ap1000ApplicationsOptions& options,
               const std::vector<int>& ranks, Runner& runner, int pus, const Hooks& hooks) {
  RunningStudy study(topology, kAboutApplications, options.quick);
  Plan plan(runner, options, ranks);
  Campaign campaign(hooks);
  const bool is_simulated = !options.ranks.machine.empty();
  for (const Application& application : applications(is_simulated)) {
    for (const int n : options.quick ? application.quick_sizes : application.sizes)
      campaign.add(plan.block_of(application, n));
  }
  campaign.add(plan.block_of_largest(applications(is_simulated).back()));
  const bool complete = campaign.run();
  study.add(campaign, complete, ap1000_applications_what);
  Pictures pictures;
  try {
    if (complete && !is_simulated) plan.count_calls();
    if (!is_simulated) pictures = runner.pictures();
  } catch (const core::VerificationError&) {
    throw;
  } catch (const core::Error& error) {  // what was measured stays
    study.record.skipped.push_back({"calls and pictures", error.what()});
  }
  add_views(study.record, campaign.points, plan.last, plan.counted, pus, pictures);
  Record record = study.finish();
  if (is_simulated) {
    tell_simulated(record, options.ranks.machine);
    record.sentences.push_back(fmt::format(
        "The set \"nothing\" uses conventional messages, whose cost the report does not "
        "give; for it, the machine is changed by {}.",
        options.conventional));
  }
  return record;
}

}  // namespace

namespace ap1000_applications {

std::string key_of(const Factors& factors) {
  std::string key;
  for (const Factor& factor : factors) key += factor.name + "=" + factor.level.text() + ";";
  return key;
}

}  // namespace ap1000_applications

std::optional<Record> run_ap1000_applications(const core::Topology& topology,
                                              const Ap1000ApplicationsOptions& options,
                                              const Hooks& hooks) {
  constexpr int kLeastGrid = 4;  // a grid of 2 x 2 has broadcasts along rows and along columns
  require_option(options.ranks.most_ranks >= 0 && options.ranks.most_ranks <= kMostRanksForked,
                 "--ranks", options.ranks.most_ranks, "from 1 to 4096");
  require_option(options.seconds >= 0 && options.seconds <= 3600, "--seconds", options.seconds,
                 "from 1 to 3600");
  const int pus = static_cast<int>(topology.pus().size());
  if (!options.ranks.machine.empty()) {
    comm::sim::Machine machine =
        comm::sim::machine_named(options.ranks.machine, options.ranks.most_ranks);
    Ap1000ApplicationsOptions there = options;
    there.ranks.machine =
        comm::sim::name_in_shape(options.ranks.machine, machine.rows, machine.columns);
    there.grid = {machine.rows, machine.columns};
    comm::sim::scale(machine, options.conventional);  // throws before anything runs
    return measure(topology, there, plan_simulated_ranks(machine.ranks()),
                   *launching_runner(there.ranks.machine, options.conventional,
                                     [&hooks] { hooks.throw_if_stopped(); }),
                   kSimulated, hooks);
  }
  int most = options.ranks.most_ranks;
  if (options.grid != comm::GridShape{}) {
    const auto [rows, columns] = options.grid;
    require_option(std::int64_t{rows} * columns <= kMostRanksForked, "--grid",
                   fmt::format("{}x{}", rows, columns), "at most 4096 ranks");
    most = rows * columns;
  }
  if (comm::transport_of({.transport = options.ranks.transport}) != comm::TransportKind::mpi) {
    const std::unique_ptr<Runner> runner = launching_runner();
    return measure(topology, options,
                   plan_ranks_from_one(most > 0 ? most : std::max(pus, kLeastGrid), topology),
                   *runner, pus, hooks);
  }
  std::optional<Record> record;
  std::exception_ptr problem;
  comm::launch({.transport = comm::TransportKind::mpi}, [&](comm::Comm& world) {
    const auto body = [&](Runner& runner) {
      require_option(most <= world.size(), "--ranks", most,
                     "MPI has fewer: start more with mpirun -n");
      record =
          measure(topology, options, plan_ranks_from_one(most > 0 ? most : world.size(), topology),
                  runner, comm::ranks_on_this_host() == world.size() ? pus : 0, hooks);
    };
    problem = run_on(world, body);
  });
  if (problem) std::rethrow_exception(problem);
  return record;
}

}  // namespace tabane::lab
