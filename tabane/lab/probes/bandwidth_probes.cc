// memory.bandwidth.over_size, memory.bandwidth.cores, memcpy: bandwidth as curves; memory.zeros.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/measurement.h"
#include "tabane/core/units.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/working_set.h"
#include "tabane/lab/record/text.h"
#include "tabane/simd/elementwise.h"

namespace tabane::lab {
namespace {

using core::kKiB;
using core::kMiB;
constexpr Mix kCurves[] = {Mix::read, Mix::write, Mix::copy, Mix::triad};

std::vector<Curve> named_curves() {
  std::vector<Curve> curves;
  for (const Mix mix : kCurves) curves.push_back({.name = name_of(mix)});
  return curves;
}

// ---- over the size of the working set ----

// Sizes from 4 KiB to `last`: several to an octave up to 32 MiB, then one (of one before: one in
// two octaves), rounded to whole lines.
std::vector<std::uint64_t> size_ladder(std::uint64_t last, int per_octave) {
  std::vector<std::uint64_t> sizes;
  for (double size = 4 * kKiB; size <= static_cast<double>(last);
       size *= std::exp2(size < 32 * kMiB  ? 1.0 / per_octave
                         : per_octave == 1 ? 2
                                           : 1))
    sizes.push_back(static_cast<std::uint64_t>(size) / 192 * 192);  // lines of three arrays
  return sizes;
}

// The level that holds a set of this size, by what is stated of the caches.
const MemoryLevel& level_of(std::span<const MemoryLevel> levels, std::uint64_t bytes) {
  const auto holds = [&](const MemoryLevel& level) { return bytes <= level.holds; };
  const auto level = std::ranges::find_if(levels, holds);
  return level == levels.end() ? levels.back() : *level;
}

void run_over_size(const Probe&, ProbeContext& context) {
  const core::ScopedBinding binding(home_pu(context));
  const auto& levels = memory_levels(context);
  WorkingSet& memory = core_set(context, levels.back());
  const auto sizes = size_ladder(levels.back().core_bytes, context.quick() ? 1 : 3);
  const auto points = static_cast<double>(sizes.size() * std::size(kCurves));
  Curves curves{{"working set", "B", true}, {"bandwidth of one core", "B/s", true}, named_curves()};
  double done = 0;
  for (const std::uint64_t size : sizes) {
    context.progress(done++ / static_cast<double>(sizes.size()));
    WorkingSet set(memory, 0, size);
    std::vector<core::Contender> contenders;
    std::vector<Loop> loops;
    for (const Mix mix : kCurves) {
      loops.push_back(core_roofs(context, level_of(levels, size), set, mix).front());
      contenders.push_back({loops.back().name, loops.back().on(set)});
    }
    const auto series = core::measure_interleaved(
        std::move(contenders), measure_options(context, context.budget_seconds() / points));
    for (std::size_t i = 0; i < loops.size(); ++i)
      add_point(curves.series[i], static_cast<double>(size), rates(series[i], loops[i].bytes(set)));
  }
  context.report({.name = "memory.bandwidth",
                  .title = "Bandwidth over size",
                  .details = {{"counting", kCounting}},
                  .content = std::move(curves)},
                 describe_bandwidth);
}

// ---- over the number of cores ----

void run_over_cores(const Probe&, ProbeContext& context) {
  const auto& levels = memory_levels(context);
  const MemoryLevel& dram = levels.back();
  require_possible(dram);
  MachineSets sets(context, dram);
  const auto counts = core_counts(sets.size(), context.quick() ? 2 : 6);
  const auto points = static_cast<double>(counts.size() * std::size(kCurves));
  Curves curves{{"cores at work"}, {"bandwidth", "B/s"}, named_curves()};
  for (std::size_t m = 0; m < std::size(kCurves); ++m) {
    context.progress(static_cast<double>(m) / static_cast<double>(std::size(kCurves)));
    const Loop loop = best_on_machine(context, dram, sets, kCurves[m]);
    std::vector<core::Contender> contenders;
    for (const std::size_t count : counts) contenders.push_back(sets.start(loop, count));
    const auto series = core::measure_interleaved(
        std::move(contenders), measure_options(context, context.budget_seconds() / points));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (disturbed(series[i])) continue;
      const auto n = static_cast<double>(counts[i]);
      add_point(curves.series[m], n, rates(series[i], n * loop.bytes(sets.front())));
    }
  }
  context.report({.name = "memory.bandwidth.cores",
                  .title = "Memory bandwidth over cores",
                  .details = {{"working_set_bytes_of_each_core", dram.machine_bytes},
                              {"order_of_cores", "compact"},
                              {detail::kSynchronisation, kStartedTogether},
                              {"counting", kCounting}},
                  .content = std::move(curves)},
                 describe_bandwidth_over_cores);
}

// ---- zeros ----

// The set holds generated numbers again when this ends.
void run_zeros(const Probe& probe, ProbeContext& context) {
  const MemoryLevel& dram = memory_levels(context).back();
  require_possible(dram);
  const core::ScopedBinding binding(home_pu(context));
  WorkingSet& set = core_set(context, dram);
  const Loop& numbers = core_roofs(context, dram, set, Mix::write).front();
  std::uint64_t zeroed = 0;  // passes
  const core::Work write_zeros = [&](std::uint64_t passes) {
    for (std::uint64_t i = 0; i < passes; ++i) {
      const Arrays arrays = set.next(Mix::write);
      simd::set(arrays.a, 0.0, arrays.streaming);
    }
    zeroed = passes;
  };
  const auto restore = [&] { set.generate_last(std::exchange(zeroed, 0)); };
  const auto series = core::measure_interleaved(
      {{"zeros", write_zeros, restore}, {numbers.name, numbers.on(set), restore}},
      measure_options(context, context.budget_seconds() / 2));
  restore();
  context.report(
      probe.result(rates(series[0], numbers.bytes(set)),
                   {{"working_set_bytes", set.bytes()},
                    {"of_other_numbers", core::median(rates(series[1], numbers.bytes(set)))}}));
}

// ---- memcpy ----

struct Blocks {
  core::Region source, target;
};

void run_memcpy(const Probe& probe, ProbeContext& context) {
  const core::ScopedBinding binding(home_pu(context));
  const std::uint64_t largest = std::min(memory_levels(context).back().core_bytes / 2, 64 * kMiB);
  const Blocks& blocks = context.memory().keep<Blocks>("memcpy", [&] {
    const core::MemoryOptions options{.pages = core::PageSize::huge, .copied_by_forks = false};
    Blocks made{core::Region(largest, options), core::Region(largest, options)};
    simd::generate(made.source.as<double>());
    simd::generate(made.target.as<double>());
    return made;
  });
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 8; size <= largest; size *= context.quick() ? 4 : 2)
    sizes.push_back(size);
  Curve curve{.name = "memcpy"};
  std::vector<double> best;
  std::uint64_t best_size = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    context.progress(static_cast<double>(i) / static_cast<double>(sizes.size()));
    std::size_t size = sizes[i];
    const core::Series series = core::measure(
        "memcpy", core::repeat([&] {
          core::forget(size);  // the library's code for any size, not the compiler's for this one
          std::memcpy(blocks.target.data(), blocks.source.data(), size);
          core::keep(blocks.target.data());
        }),
        measure_options(context, context.budget_seconds() / static_cast<double>(sizes.size())));
    const std::vector<double> speed = rates(series, static_cast<double>(size));
    add_point(curve, static_cast<double>(size), speed);
    if (best.empty() || core::median(speed) > core::median(best)) {
      best = speed;
      best_size = size;
    }
  }
  context.report(probe.result(std::move(best),
                              {{"block_bytes_of_the_best", best_size},
                               {"counting", "copied bytes once, as the cluster report does"}}));
  context.report(
      {.name = "memcpy",
       .title = "memcpy over block size",
       .content = Curves{{"block", "B", true}, {"bandwidth", "B/s", true}, {std::move(curve)}}},
      describe_memcpy);
}

// The place of the first point that reaches 95 % of the curve's highest.
std::size_t saturation(const Curve& curve) {
  const double enough = 0.95 * std::ranges::max(curve.y);
  const auto first = std::ranges::find_if(curve.y, [&](double y) { return y >= enough; });
  return static_cast<std::size_t>(first - curve.y.begin());
}

}  // namespace

void describe_bandwidth(View& view, const Record& record) {
  auto& curves = std::get<Curves>(view.content);
  if (!keep_drawable(curves)) return;
  const auto read = curves.series.begin();
  view.note = fmt::format("One core moves ({}) {}.", read->name,
                          levels_sentence(record, *read, curves.y.unit));
  const auto copy = std::ranges::find(curves.series, "copy", &Curve::name);
  if (copy != curves.series.end() && copy != read)
    view.note += fmt::format(
        " Copying gives {} at {}; bytes that are read and bytes that are written both count.",
        show(copy->y.back(), curves.y.unit), show(copy->x.back(), "B"));
  view.note += mark_caches(record, curves);
}

void describe_bandwidth_over_cores(View& view, const Record&) {
  auto& curves = std::get<Curves>(view.content);
  if (!keep_drawable(curves)) return;
  const std::string& unit = curves.y.unit;
  const Curve& lead = curves.series.front();
  const double first = lead.x.front(), full = lead.x[saturation(lead)];
  if (full > first && full < lead.x.back())
    curves.marks = {{full, fmt::format("{} full", lead.name)}};
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series) {
    if (curve.x.size() < 2) continue;
    const std::size_t at = saturation(curve);
    const bool full_before_all = at + 1 < curve.x.size();
    parts.push_back(
        fmt::format("{} {} {} ({})", curve.name,
                    full_before_all ? "reaches 95 % of its highest with" : "still rises at",
                    count_cores(curve.x[at]), show(curve.y[at], unit)));
  }
  view.note =
      fmt::format("{} {} {} ({}){}{}.", count_cores(first), first == 1 ? "gives" : "give",
                  show(lead.y.front(), unit), lead.name, parts.empty() ? "" : "; ", join(parts));
}

void describe_memcpy(View& view, const Record& record) {
  auto& curves = std::get<Curves>(view.content);
  if (!keep_drawable(curves)) return;
  const Curve& curve = curves.series.front();
  const auto best = std::ranges::max_element(curve.y) - curve.y.begin();
  view.note = fmt::format(
      "{} peaks at {} with blocks of {}; {} gives {}. Copied bytes count once here, and twice in "
      "memory.bandwidth.copy: as read and as written.",
      curve.name, show(curve.y[static_cast<std::size_t>(best)], curves.y.unit),
      show(curve.x[static_cast<std::size_t>(best)], "B"), show(curve.x.back(), "B"),
      show(curve.y.back(), curves.y.unit));
  mark_caches(record, curves);
}

std::vector<Probe> bandwidth_probes(const core::Topology&) {
  Probe over_size{.name = "memory.bandwidth.over_size",
                  .what = "bandwidth of one core over the size of its working set",
                  .unit = "B/s",
                  .better = Better::higher,
                  .version = 4,
                  .seconds = {5, 1},
                  .run = run_over_size};
  Probe over_cores{.name = "memory.bandwidth.cores",
                   .what = "bandwidth from memory over the number of cores at work",
                   .unit = "B/s",
                   .better = Better::higher,
                   .version = 3,
                   .seconds = {4, 0.6},
                   .run = run_over_cores};
  Probe zeros{.name = "memory.zeros",
              .what =
                  "bandwidth at which one core writes zeros to memory, which on some processors "
                  "is twice that of other numbers",
              .unit = "B/s",
              .better = Better::higher,
              .seconds = {0.5, 0.1},
              .run = run_zeros};
  Probe memcpy_probe{.name = "memcpy",
                     .what =
                         "the C library's memcpy at the block size where it is fastest; "
                         "copied bytes count once",
                     .unit = "B/s",
                     .better = Better::higher,
                     .version = 3,
                     .seconds = {2, 0.5},
                     .run = run_memcpy};
  return {over_size, over_cores, zeros, memcpy_probe};
}

}  // namespace tabane::lab
