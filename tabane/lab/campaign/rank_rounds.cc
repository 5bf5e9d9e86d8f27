#include "tabane/lab/campaign/rank_rounds.h"

#include <algorithm>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/core/rounds.h"

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
                    const RankRoundsOptions& options) {
  core::Clock& clock = core::tick_clock();
  const double begin = clock.now();
  const auto late = [&](double seconds) { return clock.now() - begin > seconds; };
  std::vector<std::size_t> measured;
  std::vector<std::uint64_t> iterations(works.size());
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (late(options.most_seconds)) break;
    if (!works[i]) continue;
    measured.push_back(i);
    iterations[i] = fitting_iterations(conductor, i, options.epoch_seconds);
  }
  RankSamples samples(works.size());
  const core::RoundsOptions rounds{.fewest = options.fewest_rounds,
                                   .most = options.most_rounds,
                                   .budget_seconds = options.budget_seconds,
                                   .most_seconds = options.most_seconds,
                                   .seed = 1992};
  core::in_rounds(
      measured.size(), rounds, clock, begin,
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
                           const RankRoundsOptions& options) {
  std::vector<RankWork> works;
  for (const RankWorkload& workload : workloads) works.push_back(workload(grid));
  if (grid.all().rank() == 0) return conduct(Conductor(grid.all(), works), works, options);
  follow(grid.all(), works);
  return {};
}

}  // namespace tabane::lab
