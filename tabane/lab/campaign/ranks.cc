#include "tabane/lab/campaign/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tabane/comm/collectives.h"
#include "tabane/comm/machine.h"
#include "tabane/comm/simulated_run.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"

namespace tabane::lab {
namespace {

// Work that takes no time would never fill an epoch.
constexpr std::uint64_t kMostIterations = 1 << 24;

// What rank 0 has all ranks do next. iterations 0: nothing more.
struct Command {
  std::uint64_t work = 0, iterations = 0;
};

class Conductor {
 public:
  Conductor(comm::Comm& ranks, std::span<const RankWork> works) : ranks_(ranks), works_(works) {}

  // Seconds of one epoch, from when all ranks are there.
  double epoch(std::size_t work, std::uint64_t iterations) {
    tell({work, iterations});
    comm::barrier(ranks_);
    const double begin = ranks_.now();
    works_[work](iterations);
    return ranks_.now() - begin;
  }
  void end() { tell({}); }

 private:
  void tell(Command command) { comm::broadcast(ranks_, command, 0); }

  comm::Comm& ranks_;
  std::span<const RankWork> works_;
};

void follow(comm::Comm& ranks, std::span<const RankWork> works) {
  for (;;) {
    Command command;
    comm::broadcast(ranks, command, 0);
    if (command.iterations == 0) return;
    comm::barrier(ranks);
    works[command.work](command.iterations);
  }
}

// So many iterations that an epoch lasts long enough.
std::uint64_t fitting_iterations(Conductor& conductor, std::size_t work, double epoch_seconds) {
  conductor.epoch(work, 1);
  std::uint64_t iterations = 1;
  for (;;) {
    const double seconds = conductor.epoch(work, iterations);
    if (seconds >= 0.6 * epoch_seconds || iterations >= kMostIterations) return iterations;
    const double factor = std::clamp(epoch_seconds / std::max(seconds, 1e-9), 2.0, 16.0);
    iterations = static_cast<std::uint64_t>(static_cast<double>(iterations) * factor);
  }
}

RankSamples conduct(Conductor conductor, std::span<const RankWork> works, const Effort& effort,
                    double epoch_seconds) {
  core::Clock& clock = core::tick_clock();
  const double begin = clock.now();
  std::vector<std::size_t> measured;
  std::vector<std::uint64_t> iterations(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (clock.now() - begin > effort.most_seconds) break;
    if (!works[i]) continue;
    measured.push_back(i);
    iterations[i] = fitting_iterations(conductor, i, epoch_seconds);
  }
  RankSamples samples(works.size());
  core::in_rounds(
      measured.size(), effort, clock, begin,
      [&](std::size_t i) {
        const std::uint64_t n = iterations[measured[i]];
        return conductor.epoch(measured[i], n) / static_cast<double>(n);
      },
      [&](const std::vector<double>& seconds) {
        for (std::size_t i = 0; i < measured.size(); ++i)
          samples[measured[i]].push_back(seconds[i]);
      });
  conductor.end();
  return samples;
}

}  // namespace

RankSamples measure_rounds(comm::Grid& grid, std::span<const RankWorkload> workloads,
                           const Effort& effort, double epoch_seconds) {
  std::vector<RankWork> works;
  for (const RankWorkload& workload : workloads) works.push_back(workload(grid));
  if (grid.all().rank() == 0)
    return conduct(Conductor(grid.all(), works), works, effort, epoch_seconds);
  follow(grid.all(), works);
  return {};
}

namespace {

void check(const RankOptions& options) {
  if (options.most_ranks != 0 && options.most_ranks < 2)
    throw core::UsageError("-n: at least 2 ranks, because messages go between two");
  if (options.most_ranks > kMostRanksForked)
    throw core::UsageError("-n: at most {} ranks", kMostRanksForked);
}

RankSamples measure(comm::Comm& ranks, const std::vector<RankWorkload>& workloads,
                    const Effort& effort) {
  comm::Grid grid(ranks);
  return measure_rounds(grid, workloads, effort);
}

RankRunner forking_runner(const core::Topology& topology, int most_ranks) {
  const int pus = static_cast<int>(topology.pus().size());
  RankRunner runner;
  runner.pus = pus;
  runner.most_ranks = most_ranks > 0 ? most_ranks : std::min(4 * pus, kMostRanksForked);
  runner.setting = [pus](int ranks) {
    return ranks > pus ? comm::Setting::crowded : comm::Setting::memory;
  };
  runner.run = [](int ranks, const std::vector<RankWorkload>& workloads, const Effort& effort) {
    const BlockInterrupts block;
    return *comm::launch_result<RankSamples>(
        {.ranks = ranks, .transport = comm::TransportKind::shm},
        [&](comm::Comm& comm) { return measure(comm, workloads, effort); });
  };
  return runner;
}

// A simulated machine is as fast each time.
RankRunner simulating_runner(const RankOptions& options, const Hooks& hooks) {
  const comm::sim::Machine machine = comm::sim::machine_named(options.machine, options.most_ranks);
  const int most = machine.ranks();
  if (most < 2) throw core::UsageError("--machine: at least 2 ranks, as messages go between two");
  const comm::GridShape shape = comm::fit_grid(most);
  if (machine.rows != shape.rows) {
    throw core::UsageError("--machine {}: the study takes {} ranks as {}x{}", options.machine, most,
                           shape.rows, shape.columns);
  }
  RankRunner runner;
  runner.transport = fmt::format("simulated {}", options.machine);
  runner.shares_memory = false;
  runner.is_simulated = true;
  runner.most_ranks = most;
  runner.setting = [](int) { return comm::Setting::native; };
  runner.run = [name = comm::sim::name_in_shape(options.machine, shape.rows, shape.columns),
                &hooks](int ranks, const std::vector<RankWorkload>& workloads,
                        const Effort& /*effort*/) {
    return *comm::launch_result<RankSamples>(
        {.machine = machine_with(name, ranks)}, [&](comm::Comm& comm) {
          comm::check_run(comm.transport(), [&hooks] { hooks.throw_if_stopped(); });
          comm::Grid grid(comm);
          return measure_rounds(grid, workloads, {.fewest = 1, .most = 1}, 0);
        });
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

// MPI is started once: blocks run on the first of its ranks, the others wait for the next block.
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
                        const Effort& effort) -> RankSamples {
    auto some = world.split(world.rank() < ranks ? 0 : -1);
    if (!some) return {};
    return measure(*some, workloads, effort);
  };
  return runner;
}

}  // namespace

void with_ranks(const core::Topology& topology, const RankOptions& options,
                const std::function<void(const RankRunner&)>& body, const Hooks& hooks) {
  if (!options.machine.empty()) return body(simulating_runner(options, hooks));
  check(options);
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

std::vector<int> plan_ranks(int most) {
  std::set<int> all;
  for (int ranks = 2; ranks <= most; ranks *= 2) all.insert(ranks);
  if (most >= 2) all.insert(most);
  return {all.begin(), all.end()};
}

std::vector<int> plan_ranks_from_one(int most, const core::Topology& topology) {
  std::vector<int> all = plan_ranks(most > 0 ? most : static_cast<int>(topology.pus().size()));
  all.insert(all.begin(), 1);
  return all;
}

std::string machine_with(const std::string& machine, int ranks) {
  if (comm::sim::machine_named(machine, 0).ranks() == ranks) return machine;
  const comm::GridShape shape = comm::fit_grid(ranks);
  return comm::sim::name_in_shape(machine, shape.rows, shape.columns);
}

std::vector<int> plan_simulated_ranks(int most) {
  std::set<int> all{most};
  for (int ranks = 4; ranks < most; ranks *= 4) all.insert(ranks);
  return {all.begin(), all.end()};
}

void tell_simulated(Record& record, const std::string& machine) {
  record.title += fmt::format(": {}, simulated", machine);
  record.machine = {{"name", machine}, {"summary", "simulated"}};
  record.environment = Json::object();
  record.sentences.push_back(
      "Simulated: each time is what the laws of the machine say, and the same in each run.");
  std::erase_if(record.warnings, [](const Warning& warning) { return warning.id != "quick"; });
}

Block rank_block(const RankRunner& runner, int ranks, std::string what,
                 std::vector<RankContender> contenders) {
  std::vector<RankWorkload> workloads;
  Block block{.what = std::move(what), .body = {}};
  for (const RankContender& contender : contenders) {
    workloads.push_back(contender.workload);
    block.points.push_back(contender.factors);
  }
  block.body = [&runner, ranks, workloads, contenders = std::move(contenders)](Visit& visit) {
    RankSamples samples = runner.run(ranks, workloads,
                                     {.fewest = 2,
                                      .most = 1000,
                                      .budget_seconds = visit.budget_seconds(),
                                      .most_seconds = visit.most_seconds()});
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (double& seconds : samples[i]) seconds *= contenders[i].factor;
      visit.add(contenders[i].factors, samples[i]);
    }
  };
  return block;
}

}  // namespace tabane::lab
