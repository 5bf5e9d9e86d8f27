#include "tabane/lab/probes/loaded_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tabane/core/measurement.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/probes/level_sets.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/lab/probes/views.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr Mix kMixes[] = {Mix::read, Mix::copy};

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

  // rates: what the loaders get from memory together, B/s, one a sample.
  core::Competitor with(std::size_t loaders, const Loop& loop, std::vector<double>& rates) {
    core::Competitor competitor{.name = loop.name, .work = {}};
    competitor.timed = [this, loaders, &loop, &rates](std::uint64_t iterations) {
      return sample(loaders, loop, iterations, rates);
    };
    return competitor;
  }

 private:
  double sample(std::size_t loaders, const Loop& loop, std::uint64_t loads,
                std::vector<double>& rates) {
    std::vector<core::Work> passes;
    std::vector<std::uint64_t> done(loaders);
    std::vector<std::size_t> threads;
    for (std::size_t i = 0; i < loaders; ++i) {
      passes.push_back(loop.on(sets_[i]));
      threads.push_back(i);
    }
    const std::size_t follower = sets_.size() - 1;
    threads.push_back(follower);
    double whole = 0;
    const double seconds = follow_under_load(
        chase_, loads, sets_.pool(), threads, follower,
        [&](std::size_t i) {
          passes[i](1);
          ++done[i];
        },
        &whole);
    const auto all = std::accumulate(done.begin(), done.end(), std::uint64_t{0});
    if (loaders > 0) rates.push_back(static_cast<double>(all) * loop.bytes(sets_.front()) / whole);
    return seconds;
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
  std::vector<std::vector<double>> moved(counts.size() * std::size(kMixes));
  std::vector<Loop> loops;
  for (const Mix mix : kMixes) loops.push_back(best_on_machine(context, dram, sets, mix));
  std::vector<core::Competitor> competitors;
  for (std::size_t m = 0; m < loops.size(); ++m)
    for (std::size_t i = 0; i < counts.size(); ++i)
      competitors.push_back(loaded.with(counts[i], loops[m], moved[m * counts.size() + i]));
  core::MeasureOptions options =
      measure_options(context, context.budget_seconds() / static_cast<double>(competitors.size()));
  options.min_epoch_seconds = 2e-3;  // loaders must have begun, and a pass takes a millisecond
  const auto series = core::measure_interleaved(std::move(competitors), options);

  Curves latency{{"other cores at work"}, {"latency of a load", "ns"}, {}};
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
      rate.series[m].y.push_back(core::median(moved[at]));
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
                      .title = "Latency of memory under load",
                      .version = probe.version,
                      .content = std::move(latency)},
                 describe_loaded_latency);
  context.report(View{.name = probe.name + ".bandwidth",
                      .title = "What the other cores get from memory meanwhile",
                      .version = probe.version,
                      .content = std::move(rate)});
  context.progress(1);
}

// What the other cores do, as a verb: "reads it", "read it".
std::string verb(const Curve& curve, bool one) {
  const bool copy = curve.name == "others copy";
  return copy ? (one ? "copies in it" : "copy in it") : (one ? "reads it" : "read it");
}

}  // namespace

void describe_loaded_latency(View& view, const Record&) {
  auto& curves = std::get<Curves>(view.content);
  if (!keep_drawable(curves)) return;
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series) {
    const double others = curve.x.back();
    if (curve.x.front() != 0 || others == 0) continue;
    parts.push_back(
        fmt::format("{} while {} {}", show(curve.y.back(), curves.y.unit),
                    others == 1 ? "1 other core" : fmt::format("{:.0f} other cores", others),
                    verb(curve, others == 1)));
  }
  if (parts.empty()) return;
  view.note = fmt::format(
      "A load from memory takes {} alone, {}. Where the curve bends upwards, "
      "more cores only wait for each other.",
      show(curves.series.front().y.front(), curves.y.unit), join(parts));
}

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
