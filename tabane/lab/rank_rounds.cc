#include "tabane/lab/rank_rounds.h"

#include <algorithm>
#include <random>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"

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
    core::Clock& clock = core::tick_clock();
    const double begin = clock.now();
    works_[work](iterations);
    return clock.now() - begin;
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
    if (seconds > 0.6 * epoch_seconds || iterations >= kMostIterations) return iterations;
    const double factor = std::clamp(epoch_seconds / std::max(seconds, 1e-9), 2.0, 16.0);
    iterations = static_cast<std::uint64_t>(static_cast<double>(iterations) * factor);
  }
}

RankSamples conduct(Conductor conductor, std::span<const RankWork> works,
                    const RoundsOptions& options) {
  core::Clock& clock = core::tick_clock();
  const double begin = clock.now();
  const auto late = [&](double seconds) { return clock.now() - begin > seconds; };
  std::vector<std::size_t> order;
  std::vector<std::uint64_t> iterations(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (late(options.most_seconds)) break;
    if (!works[i]) continue;
    order.push_back(i);
    iterations[i] = fitting_iterations(conductor, i, options.epoch_seconds);
  }
  RankSamples samples(works.size());
  std::mt19937 random(1992);
  for (int round = 0; round < options.most_rounds; ++round) {
    if (round >= options.fewest_rounds && late(options.budget_seconds)) break;
    if (late(options.most_seconds)) break;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      samples[i].push_back(conductor.epoch(i, iterations[i]) / static_cast<double>(iterations[i]));
    }
  }
  conductor.end();
  return samples;
}

}  // namespace

RankSamples measure_rounds(comm::Grid& grid, std::span<const RankWorkload> workloads,
                           const RoundsOptions& options) {
  std::vector<RankWork> works;
  for (const RankWorkload& workload : workloads) works.push_back(workload(grid));
  if (grid.all().rank() == 0) return conduct(Conductor(grid.all(), works), works, options);
  follow(grid.all(), works);
  return {};
}

}  // namespace tabane::lab
