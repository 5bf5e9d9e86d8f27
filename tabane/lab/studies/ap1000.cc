#include "tabane/lab/studies/ap1000.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/hold_interrupts.h"
#include "tabane/lab/studies/ap1000_data.h"
#include "tabane/lab/version.h"

namespace tabane::lab {
namespace ap1000 {
namespace {

void check(const core::Topology& topology, const Ap1000Options& options) {
  if (options.most_ranks != 0 && options.most_ranks < 2)
    throw core::UsageError("-n: at least 2 ranks, for messages go between two");
  if (options.most_ranks > kMostRanksForked)
    throw core::UsageError(fmt::format("-n: at most {} ranks", kMostRanksForked));
  if (!topology.is_this_machine())
    throw core::UsageError(
        "the topology is not that of this machine (HWLOC_SYNTHETIC or HWLOC_XMLFILE is set), so "
        "nothing can be measured on it; unset the variable");
}

RankSamples measure(comm::Comm& ranks, const std::vector<RankWorkload>& workloads,
                    const RoundsOptions& options) {
  comm::Grid grid(ranks);
  return measure_rounds(grid, workloads, options);
}

RankRunner forking_runner(const core::Topology& topology, int most_ranks) {
  const int pus = static_cast<int>(topology.pus().size());
  RankRunner runner;
  runner.most_ranks = most_ranks > 0 ? most_ranks : std::min(4 * pus, kMostRanksForked);
  runner.agree = [](bool yes) { return yes; };
  runner.setting = [pus](int ranks) {
    return ranks > pus ? comm::Setting::crowded : comm::Setting::memory;
  };
  runner.run = [](int ranks, const std::vector<RankWorkload>& workloads,
                  const RoundsOptions& options) {
    const std::function<RankSamples(comm::Comm&)> rank = [&](comm::Comm& comm) {
      return measure(comm, workloads, options);
    };
    const HoldInterrupts hold;
    return comm::launch_result<RankSamples>({.ranks = ranks, .transport = comm::TransportKind::shm},
                                            rank)
        .value();
  };
  return runner;
}

// Why the ranks that MPI has are not enough; empty if they are.
std::string complaint_about(const comm::Comm& world, int most_ranks) {
  if (world.size() < 2)
    return "MPI has one rank only, and messages go between two: start it with mpirun -n 2 or more";
  if (most_ranks > world.size())
    return fmt::format("-n {}: MPI has {} ranks", most_ranks, world.size());
  return "";
}

// MPI is started once: jobs run on the first of its ranks, the others wait for the next job.
RankRunner mpi_runner(comm::Comm& world, int most_ranks) {
  RankRunner runner;
  runner.transport = world.transport().name();
  runner.most_ranks = most_ranks > 0 ? most_ranks : world.size();
  runner.shares_memory = world.transport().memory() != nullptr;
  runner.shows = world.rank() == 0;
  runner.setting = [&world](int) { return comm::setting_of(world.group()); };
  runner.agree = [&world](bool yes) {
    std::uint8_t agreed = yes ? 1 : 0;
    comm::broadcast(world, agreed, 0);
    return agreed != 0;
  };
  runner.run = [&world](int ranks, const std::vector<RankWorkload>& workloads,
                        const RoundsOptions& options) -> RankSamples {
    auto some = world.split(world.rank() < ranks ? 0 : -1);
    if (!some) return {};
    return measure(*some, workloads, options);
  };
  return runner;
}

}  // namespace

void with_runner(const core::Topology& topology, const Ap1000Options& options,
                 const std::function<void(const RankRunner&)>& body) {
  check(topology, options);
  const comm::TransportKind kind = options.transport == comm::TransportKind::automatic
                                       ? comm::detect_transport()
                                       : options.transport;
  if (kind != comm::TransportKind::mpi) return body(forking_runner(topology, options.most_ranks));
  std::string complaint;  // what a rank throws would be an error of its own
  comm::launch({.transport = kind}, [&](comm::Comm& world) {
    complaint = complaint_about(world, options.most_ranks);
    if (complaint.empty()) body(mpi_runner(world, options.most_ranks));
  });
  if (!complaint.empty()) throw core::UsageError(complaint);
}

PassOptions pass_options(const Ap1000Options& options, double budget_seconds, int passes) {
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : budget_seconds;
  const double most = options.most_seconds > 0 ? options.most_seconds : 2 * budget;
  return {.budget_seconds = budget, .most_seconds = most, .passes = passes};
}

bool run_passes(const RankRunner& runner, const std::vector<Job>& jobs, const PassOptions& options,
                const SurveyHooks& hooks, std::vector<Point>& points) {
  core::Clock& clock = core::tick_clock();
  const double begin = clock.now();
  const std::size_t launches = jobs.size() * static_cast<std::size_t>(options.passes);
  RoundsOptions rounds{.budget_seconds = options.budget_seconds / static_cast<double>(launches)};
  for (std::size_t launch = 0; launch < launches; ++launch) {
    const Job& job = jobs[launch % jobs.size()];
    const double spent = clock.now() - begin;
    if (runner.agree(hooks.stop_requested())) return false;
    const bool first_pass = launch < jobs.size();
    if (runner.agree(!first_pass && spent > options.budget_seconds)) break;
    const double jobs_left = static_cast<double>(first_pass ? jobs.size() - launch : 1);
    rounds.most_seconds = (options.most_seconds - spent) / jobs_left;
    const double done = static_cast<double>(launch) / static_cast<double>(launches);
    if (runner.shows) hooks.progress(job.what, done, std::max(0.0, options.budget_seconds - spent));
    const RankSamples samples = runner.run(job.ranks, job.workloads, rounds);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (const double seconds : samples[i])
        points[job.points[i]].seconds.push_back(seconds * job.factors[i]);
    }
  }
  return true;
}

SurveyRecord begin_record(const core::Topology& topology, const Ap1000Options& options,
                          std::string_view verb) {
  SurveyRecord record;
  record.tabane_version = version();
  record.started = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  record.command_line =
      fmt::format("tabane study ap1000{}{}", verb, options.quick ? " --quick" : "");
  if (options.transport != comm::TransportKind::automatic)
    record.command_line +=
        options.transport == comm::TransportKind::mpi ? " --transport mpi" : " --transport shm";
  if (options.most_ranks > 0) record.command_line += fmt::format(" -n {}", options.most_ranks);
  record.quick = options.quick;
  record.machine = describe_machine(topology);
  record.environment = read_environment();
  return record;
}

namespace {

void note_unmeasured(SurveyRecord& record, const std::vector<Point>& points,
                     const PassOptions& passes) {
  const auto missing = std::count_if(points.begin(), points.end(),
                                     [](const Point& point) { return !point.measured(); });
  if (missing == 0) return;
  record.skipped.push_back(
      {"ap1000",
       fmt::format("{} of {} operations: the {:.0f} s that it may take were over; ask for "
                   "fewer ranks with -n",
                   missing, points.size(), passes.most_seconds)});
}

}  // namespace
}  // namespace ap1000

std::optional<Study> run_ap1000(const core::Topology& topology, const Ap1000Options& options,
                                const SurveyHooks& hooks) {
  using namespace ap1000;
  Study study{.name = "ap1000",
              .title = "Messages, broadcast, global functions, gathering and barriers",
              .source =
                  "Report on message handling, broadcast and barrier synchronisation on the AP1000 "
                  "(64 to 512 cells, 1992)",
              .tables = {},
              .record = begin_record(topology, options, "")};
  const PassOptions passes =
      options.quick ? pass_options(options, 20, 3) : pass_options(options, 120, 10);
  bool shows = true;
  with_runner(topology, options, [&](const RankRunner& runner) {
    shows = runner.shows;
    Findings findings;
    findings.transport = runner.transport;
    if (runner.transport == "shm") findings.pus = static_cast<int>(topology.pus().size());
    const std::vector<Job> jobs = plan_jobs(runner, findings);
    const double begin = core::tick_clock().now();
    study.record.complete = run_passes(runner, jobs, passes, hooks, findings.points);
    study.record.duration_s = core::tick_clock().now() - begin;
    if (!shows) return;
    if (study.record.complete) note_unmeasured(study.record, findings.points, passes);
    add_record(study.record, findings);
    add_tables(study, findings);
  });
  if (!shows) return {};
  return study;
}

}  // namespace tabane::lab
