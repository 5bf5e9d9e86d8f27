// memory.latency.*: the time of one load that depends on the load before it, over the working set,
// alone and while other cores use the memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/core_rate.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/memory.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/working_set.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {

// ---- memory.latency.loaded ----

namespace {

constexpr Mix kLoadsOfMemory[] = {Mix::read, Mix::copy};

// 0, 1, 2, 4 … and all.
std::vector<std::size_t> loader_counts(std::size_t others) {
  std::vector<std::size_t> counts = {0};
  for (std::size_t n = 1; n < others; n *= 2) counts.push_back(n);
  if (others > 0) counts.push_back(others);
  return counts;
}

// The last thread of the sets follows the cycle; the first `loaders` load the memory as long as it
// does. rates: what these get from memory together, B/s, one a sample.
core::Contender loaded_chase(MachineSets& sets, Chase& chase, std::size_t loaders, const Loop& loop,
                             std::vector<double>& rates) {
  core::Contender contender{.name = loop.name, .work = {}};
  contender.timed = [&sets, &chase, &loop, &rates, loaders](std::uint64_t loads) {
    std::vector<core::Work> passes;
    std::vector<std::uint64_t> done(loaders);
    std::vector<std::size_t> threads;
    for (std::size_t i = 0; i < loaders; ++i) {
      passes.push_back(loop.on(sets[i]));
      threads.push_back(i);
    }
    threads.push_back(sets.size() - 1);
    double whole = 0;
    const double seconds = follow_under_load(
        chase, loads, sets.pool(), threads, threads.back(),
        [&](std::size_t i) {
          passes[i](1);
          ++done[i];
        },
        &whole);
    const auto all = std::accumulate(done.begin(), done.end(), std::uint64_t{0});
    if (loaders > 0) rates.push_back(static_cast<double>(all) * loop.bytes(sets.front()) / whole);
    return seconds;
  };
  return contender;
}

// One core follows a random cycle through memory while k others read from memory, or copy in it:
// how latency grows, and what the others get. source: the loaded-latency mode of Intel's Memory
// Latency Checker.
void run_loaded(const Probe& probe, ProbeContext& context) {
  const auto& levels = memory_levels(context);
  const MemoryLevel& dram = levels.back();
  require_possible(dram);
  MachineSets sets(context, dram);
  if (sets.size() < 2) throw NotHere("one usable core: no other one can load the memory");
  Chase* chase = nullptr;
  sets.on_thread(sets.size() - 1, [&] { chase = &memory_chase(context); });
  const auto counts = loader_counts(sets.size() - 1);
  std::vector<std::vector<double>> moved(counts.size() * std::size(kLoadsOfMemory));
  std::vector<Loop> loops;
  for (const Mix mix : kLoadsOfMemory) loops.push_back(best_on_machine(context, dram, sets, mix));
  std::vector<core::Contender> contenders;
  for (std::size_t m = 0; m < loops.size(); ++m)
    for (std::size_t i = 0; i < counts.size(); ++i)
      contenders.push_back(
          loaded_chase(sets, *chase, counts[i], loops[m], moved[m * counts.size() + i]));
  core::MeasureOptions options =
      measure_options(context, context.budget_seconds() / static_cast<double>(contenders.size()));
  options.min_epoch_seconds = 2e-3;  // loaders must have begun, and a pass takes a millisecond
  const auto series = core::measure_interleaved(std::move(contenders), options);

  Curves latency{{"other cores at work"}, {"latency of a load", "ns"}, {}};
  Curves rate{{"other cores at work", "", false}, {"bandwidth of the others", "B/s", false}, {}};
  for (std::size_t m = 0; m < loops.size(); ++m) {
    const std::string name = m == 0 ? "others read" : "others copy";
    latency.series.push_back({.name = name});
    rate.series.push_back({.name = name});
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
  result.details = {{"bytes", chase->sizes().back()},
                    {"others", counts.back()},
                    {"others_do", "read memory of their own"},
                    {"alone_ns", 1e9 * series.front().median()}};
  const core::Series& all_at_work = series[counts.size() - 1];
  refuse_disturbed(result, all_at_work, scaled(all_at_work.samples, 1e9));
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

namespace {

using core::kKiB;
using core::kMiB;
constexpr std::uint64_t kSmallestSet = 4 * kKiB;
constexpr std::uint64_t kUnknownLastLevel = 32 * kMiB;
constexpr std::uint64_t kCycleAdds = 64;

struct Plan {
  std::uint64_t last_level = 0;  // bytes of the last cache
  std::uint64_t dram = 0;        // size that stands for DRAM, the largest
  std::vector<std::pair<std::string, std::uint64_t>> caches;  // level and what represents it
  std::vector<std::uint64_t> sizes;                           // ascending, with all of the above
};

std::uint64_t whole_lines(double bytes) {
  return static_cast<std::uint64_t>(bytes) / core::cache_line_bytes() * core::cache_line_bytes();
}

std::uint64_t half_of_last_cache(const Plan& plan) {
  return whole_lines(static_cast<double>(plan.last_level) / 2);
}

// Puts a size that must be there in place of the one that is nearest to it.
void put(std::vector<std::uint64_t>& sizes, std::uint64_t wanted) {
  const auto distance = [&](std::uint64_t size) {
    return std::abs(std::log(static_cast<double>(size) / static_cast<double>(wanted)));
  };
  *std::ranges::min_element(sizes, {}, distance) = wanted;
}

Plan plan_sizes(ProbeContext& context) {
  Plan plan;
  plan.last_level = kUnknownLastLevel;
  if (!context.topology().caches().empty()) {
    plan.last_level = context.topology().caches().back().bytes;
    for (const MemoryLevel& level : memory_levels(context))
      if (!level.is_memory())
        plan.caches.emplace_back(level.name, whole_lines(static_cast<double>(level.core_bytes)));
  }
  // A probe with little time stays at sizes whose cycles it can link in that time.
  const double most = std::min(
      {memory_allowance(), 1024.0 * kMiB, std::max(64.0, 4096 * context.budget_seconds()) * kMiB});
  plan.dram =
      std::max(whole_lines(std::min(6.0 * static_cast<double>(plan.last_level), most)), kMiB);
  // Large cycles take long to link: one an octave, when quick one in three.
  const double small_step = context.quick() ? 2 : std::exp2(1.0 / 3);
  const double large_step = context.quick() ? 8 : 2;
  double size = static_cast<double>(kSmallestSet);
  while (size < static_cast<double>(plan.dram)) {
    plan.sizes.push_back(whole_lines(size));
    size *= size < static_cast<double>(Chase::kLinkedAnew) / 2 ? small_step : large_step;
  }
  plan.sizes.push_back(plan.dram);
  put(plan.sizes, std::min(half_of_last_cache(plan), plan.dram));
  for (const auto& [level, bytes] : plan.caches)
    if (bytes < plan.dram) put(plan.sizes, bytes);
  std::ranges::sort(plan.sizes);
  plan.sizes.erase(std::unique(plan.sizes.begin(), plan.sizes.end()), plan.sizes.end());
  // The cycles of large sizes share the same lines, side by side.
  const auto is_large = [](std::uint64_t bytes) { return bytes > Chase::kLinkedAnew; };
  const auto is_free = [&](std::uint64_t bytes) {
    return is_large(bytes) && std::ranges::none_of(plan.caches, [&](const auto& cache) {
             return cache.second == bytes;
           });
  };
  while (std::ranges::count_if(plan.sizes, is_large) > static_cast<long>(Chase::kMostLarge))
    plan.sizes.erase(std::ranges::find_if(plan.sizes, is_free));
  return plan;
}

struct LoadTimes {
  std::vector<double> ns;
  std::optional<double> cycles;  // of the core, from additions measured in turn
};

// Cycles mean something in the caches of a core. Beyond them only loads are timed: while a core
// adds, memory may fall asleep.
constexpr std::uint64_t kMostCycles = Chase::kLinkedAnew;

LoadTimes measure_size(Chase& chase, std::size_t size, core::MeasureOptions options) {
  chase.prepare(size);
  std::vector<core::Contender> contenders = {
      {"chase", [&](std::uint64_t loads) { chase.follow(size, loads); }}};
  const bool in_cycles = chase.sizes()[size] <= kMostCycles;
  if (in_cycles)
    contenders.push_back(
        {"cycle", [](std::uint64_t blocks) { core::run_add_chain(blocks * kCycleAdds); }});
  const auto series = core::measure_interleaved(std::move(contenders), options);
  LoadTimes measured{scaled(series[0].samples, 1e9), {}};
  if (in_cycles)
    measured.cycles = core::interleaved_ratio(series[0].samples, series[1].samples).value *
                      static_cast<double>(kCycleAdds);
  return measured;
}

// One kind of pages: all sizes in this pass.
std::vector<LoadTimes> sweep(Chase& chase, ProbeContext& context, double from, double to) {
  const auto count = static_cast<double>(chase.sizes().size());
  core::MeasureOptions options =
      measure_options(context, 0.2 * context.budget_seconds() * (to - from) / count);
  options.min_epoch_seconds = 50e-6;
  std::vector<LoadTimes> points;
  for (std::size_t size = 0; size < chase.sizes().size(); ++size) {
    context.progress(from + (to - from) * static_cast<double>(size) / count);
    points.push_back(measure_size(chase, size, options));
  }
  return points;
}

Curve to_curve(std::string name, const Chase& chase, const std::vector<LoadTimes>& points) {
  Curve curve{.name = std::move(name)};
  for (std::size_t i = 0; i < points.size(); ++i)
    add_point(curve, static_cast<double>(chase.sizes()[i]), points[i].ns);
  return curve;
}

void report_size(ProbeContext& context, const Probe& probe, const std::string& level,
                 std::uint64_t bytes, const Chase& chase, const std::vector<LoadTimes>& points,
                 const Json& details) {
  const auto at = std::ranges::find(chase.sizes(), bytes);
  if (at == chase.sizes().end()) return;
  const LoadTimes& point = points[static_cast<std::size_t>(at - chase.sizes().begin())];
  Result result = probe.result(point.ns, details);
  result.name = probe.name + "." + level;
  result.what = fmt::format("Latency of a dependent load from {}, {}",
                            level == "dram" ? "main memory" : "the " + level + " cache",
                            details.at(detail::kPageSize).text());
  result.details["bytes"] = bytes;
  if (point.cycles) result.details["core_cycles"] = *point.cycles;
  context.report(std::move(result));
}

// When quick only the sizes whose cycles are linked fast, unless these are all the pages there are.
std::vector<std::uint64_t> sizes_on_base_pages(const Plan& plan, bool quick) {
  std::vector<std::uint64_t> sizes = plan.sizes;
  if (quick && core::huge_pages_possible())
    std::erase_if(sizes, [](std::uint64_t bytes) { return bytes > Chase::kLinkedAnew; });
  return sizes;
}

// Null where the system gives hardly any huge pages.
std::unique_ptr<Chase> huge_chase(const std::vector<std::uint64_t>& sizes) {
  if (!core::huge_pages_possible()) return nullptr;
  auto chase = std::make_unique<Chase>(sizes, core::MemoryOptions{.pages = core::PageSize::huge});
  return chase->mostly_huge() ? std::move(chase) : nullptr;
}

// Null where the system refuses to bind.
std::unique_ptr<core::ScopedBinding> bind_home(ProbeContext& context, Json& details) {
  if (!context.topology().is_this_machine()) return nullptr;
  try {
    auto binding = std::make_unique<core::ScopedBinding>(home_pu(context));
    details["pu"] = home_pu(context);
    return binding;
  } catch (const core::SystemError& error) {
    details["not_bound"] = error.what();
    return nullptr;
  }
}

void run_memory_latency(const Probe& probe, ProbeContext& context) {
  using Held = std::unique_ptr<Chase>;
  Json details = Json::object();
  const auto binding = bind_home(context, details);
  const Plan& plan =
      context.memory().keep<Plan>("latency.plan", [&] { return plan_sizes(context); });
  const Held& small = context.memory().keep<Held>(kSmallChase, [&] {
    return std::make_unique<Chase>(sizes_on_base_pages(plan, context.quick()),
                                   core::MemoryOptions{.pages = core::PageSize::small});
  });
  const Held& huge =
      context.memory().keep<Held>(kHugeChase, [&] { return huge_chase(plan.sizes); });

  Curves curves{{"working set", "B", true}, {"time of one dependent load", "ns", true}, {}};
  std::vector<LoadTimes> points = sweep(*small, context, 0, huge ? 0.5 : 1);
  curves.series.push_back(to_curve(base_pages(), *small, points));
  if (huge) {
    points = sweep(*huge, context, 0.5, 1);
    curves.series.push_back(to_curve("huge pages", *huge, points));
    if (const auto bytes = huge->huge_bytes()) details["huge_bytes"] = *bytes;
  } else {
    details["no_huge_pages"] = "the system does not grant huge pages, or had too few free";
  }

  const Chase& measured = huge ? *huge : *small;
  Json result_details = details;
  result_details[detail::kPageSize] = huge ? "huge pages" : base_pages();
  for (const auto& [level, bytes] : plan.caches)
    report_size(context, probe, level, bytes, measured, points, result_details);
  // With less, the last cache would answer most of the loads.
  if (plan.dram >= 2 * plan.last_level) {
    result_details["times_last_level_cache"] =
        static_cast<double>(plan.dram) / static_cast<double>(plan.last_level);
    const auto half = std::ranges::find(measured.sizes(), half_of_last_cache(plan));
    if (half != measured.sizes().end())
      result_details[kHalfOfLastCacheNs] =
          core::median(points[static_cast<std::size_t>(half - measured.sizes().begin())].ns);
    report_size(context, probe, "dram", plan.dram, measured, points, result_details);
  }
  details["line_bytes"] = core::cache_line_bytes();
  context.report(View{.name = "memory.latency",
                      .title = "Latency over size",
                      .version = probe.version,
                      .details = std::move(details),
                      .content = std::move(curves)},
                 describe_latency);
}

}  // namespace

void describe_latency(View& view, const Record& record) {
  auto& curves = std::get<Curves>(view.content);
  if (!keep_drawable(curves)) return;
  const std::string& unit = curves.y.unit;
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series)
    parts.push_back(
        fmt::format("with {} it takes {}", curve.name, levels_sentence(record, curve, unit)));
  view.note = "Each load waits for the one before and goes to a random place: " +
              fmt::format("{}", fmt::join(parts, "; ")) + ".";
  const auto small = curves.series.begin();
  const auto huge = std::ranges::find(curves.series, "huge pages", &Curve::name);
  if (huge != curves.series.end() && huge != small) {
    if (small->x.back() == huge->x.back()) view.note += " The difference is translating addresses.";
    const Result* result = record.find("memory.latency.l1");
    if (result != nullptr && result->details.value(detail::kPageSize, "") == huge->name)
      view.note += " The single figures below memory.latency are those with huge pages.";
  }
  view.note += mark_caches(record, curves);
}

std::vector<Probe> latency_probes(const core::Topology&) {
  return {{.name = "memory.latency",
           .what = "Latency of a dependent load",
           .unit = "ns",
           .better = Better::lower,
           .version = 3,
           .seconds = {9, 2},
           .run = run_memory_latency},
          {.name = "memory.latency.loaded",
           .what = "Latency of a dependent load from memory while all other cores read from it",
           .unit = "ns",
           .better = Better::lower,
           .seconds = {2.5, 0.6},
           .run = run_loaded}};
}

}  // namespace tabane::lab
