#include "tabane/lab/probes/loaded_latency.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "tabane/core/clock.h"
#include "tabane/core/measurement.h"
#include "tabane/core/running_share.h"
#include "tabane/core/time_together.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/probes/level_sets.h"
#include "tabane/lab/probes/plan.h"

namespace tabane::lab {
namespace {

constexpr Mix kLoads[] = {Mix::read, Mix::copy};

// 0, 1, 2, 4 … and all.
std::vector<std::size_t> loader_counts(std::size_t others) {
  std::vector<std::size_t> counts = {0};
  for (std::size_t n = 1; n < others; n *= 2) counts.push_back(n);
  if (others > 0) counts.push_back(others);
  return counts;
}

// The last thread of the sets follows the cycle; the first k load the memory as long as it does.
class LoadedChase {
 public:
  LoadedChase(MachineSets& sets, Chase& chase) : sets_(sets), chase_(chase) {}

  // bytes: what the loaders moved and the seconds in which they did are added to it.
  struct Moved {
    double bytes = 0, seconds = 0;
    std::vector<double> rates;  // one a sample
  };
  core::Competitor with(std::size_t loaders, const Loop& loop, Moved& moved) {
    core::Competitor competitor{.name = loop.name, .work = {}};
    competitor.timed = [this, loaders, &loop, &moved](std::uint64_t iterations) {
      return sample(loaders, loop, iterations, moved);
    };
    return competitor;
  }

 private:
  double sample(std::size_t loaders, const Loop& loop, std::uint64_t loads, Moved& moved) {
    std::atomic<bool> done{false};
    std::vector<std::uint64_t> passes(loaders);
    double seconds = 0;
    const std::size_t follower = sets_.size() - 1;
    const core::TogetherTime time = sets_.time_on(loaders, follower, [&](std::size_t i) {
      if (i == follower) {
        core::Clock& clock = core::tick_clock();
        const double begin = clock.now();
        chase_.follow(chase_.sizes().size() - 1, loads);
        seconds = clock.now() - begin;
        done.store(true, std::memory_order_relaxed);
        return;
      }
      const core::Work pass = loop.on(sets_[i]);
      for (; !done.load(std::memory_order_relaxed); ++passes[i]) pass(1);
    });
    const auto all = std::accumulate(passes.begin(), passes.end(), std::uint64_t{0});
    if (loaders > 0)
      moved.rates.push_back(static_cast<double>(all) * loop.bytes(sets_.front()) / time.seconds);
    return time.running_share >= core::kLeastRunningShare ? seconds : -seconds;
  }

  MachineSets& sets_;
  Chase& chase_;
};

void run_loaded(const Probe& probe, ProbeContext& context) {
  const auto& levels = memory_levels(context);
  const MemoryLevel& dram = levels.back();
  require_possible(dram);
  MachineSets sets(context, dram);
  if (sets.size() < 2) throw NotHere("one usable core: no other one can load the memory");
  Chase* chase = nullptr;
  sets.on_thread(sets.size() - 1, [&] { chase = &memory_chase(context); });
  const auto counts = loader_counts(sets.size() - 1);
  LoadedChase loaded(sets, *chase);
  std::vector<LoadedChase::Moved> moved(counts.size() * std::size(kLoads));
  std::vector<Loop> loops;
  for (const Mix mix : kLoads) loops.push_back(best_on_machine(context, dram, sets, mix));
  std::vector<core::Competitor> competitors;
  for (std::size_t m = 0; m < loops.size(); ++m)
    for (std::size_t i = 0; i < counts.size(); ++i)
      competitors.push_back(loaded.with(counts[i], loops[m], moved[m * counts.size() + i]));
  core::MeasureOptions options =
      measure_options(context, context.budget_seconds() / static_cast<double>(competitors.size()));
  options.min_epoch_seconds = 2e-3;  // loaders must have begun, and a pass takes a millisecond
  const auto series = core::measure_interleaved(std::move(competitors), options);

  Curves latency{{"other cores at work", "", false}, {"latency", "ns", false}, {}};
  Curves rate{{"other cores at work", "", false}, {"bandwidth of the others", "B/s", false}, {}};
  for (std::size_t m = 0; m < loops.size(); ++m) {
    const std::string name = m == 0 ? "others read" : "others copy";
    latency.series.push_back({.name = name, .x = {}, .y = {}});
    rate.series.push_back({.name = name, .x = {}, .y = {}});
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t at = m * counts.size() + i;
      if (disturbed(series[at])) continue;
      latency.series[m].x.push_back(static_cast<double>(counts[i]));
      latency.series[m].y.push_back(1e9 * series[at].median());
      if (counts[i] == 0) continue;
      rate.series[m].x.push_back(static_cast<double>(counts[i]));
      rate.series[m].y.push_back(core::median(moved[at].rates));
    }
  }
  Result result = probe.result();
  result.details["bytes"] = chase->sizes().back();
  result.details["others"] = counts.back();
  result.details["others_do"] = "read memory of their own";
  result.details["alone_ns"] = 1e9 * series.front().median();
  std::vector<double> ns = series[counts.size() - 1].samples;
  for (double& sample : ns) sample *= 1e9;
  refuse_disturbed(result, series[counts.size() - 1], std::move(ns));
  context.report(std::move(result));
  context.report(View{.name = probe.name,
                      .title = probe.what,
                      .version = probe.version,
                      .content = std::move(latency)});
  context.report(View{.name = probe.name + ".bandwidth",
                      .title = "What the other cores get from memory meanwhile",
                      .version = probe.version,
                      .content = std::move(rate)});
  context.progress(1);
}

}  // namespace

Probe loaded_latency_probe(const core::Topology&) {
  Probe probe;
  probe.name = "memory.latency.loaded";
  probe.what = "Latency of a dependent load from memory while all other cores read from it";
  probe.unit = "ns";
  probe.better = Better::lower;
  probe.seconds = 2.5;
  probe.quick_seconds = 0.6;
  probe.run = run_loaded;
  return probe;
}

}  // namespace tabane::lab
