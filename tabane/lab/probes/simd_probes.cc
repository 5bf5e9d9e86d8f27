// simd.<kernel>.<level>: tabane's kernels against the roofline of their level; the ladder of a
// kernel.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tabane/core/keep.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/kernels.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/simd/ladder.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

// Bytes a second between the core and the level: the highest that any of the memory kernels
// reached.
std::optional<double> bandwidth_roof(const std::string& level, const ProbeContext& context) {
  std::optional<double> best;
  for (const Kernel& kernel : memory_kernels()) {
    const auto roof = context.roof(fmt::format("memory.bandwidth.{}.{}.core", kernel.name, level));
    if (!roof) return std::nullopt;
    best = std::max(best.value_or(0), *roof);
  }
  return best;
}

// Seconds an element that loads and stores take at best.
//
// The first cache has ports of their own for loads and for stores, which work at once: the slower
// of the two counts. Everything farther away is reached by one path.
std::optional<double> best_memory_seconds(const Kernel& kernel, const std::string& level,
                                          const ProbeContext& context) {
  if (level == "l1") {
    const auto read = context.roof("memory.bandwidth.read.l1.core");
    const auto set = context.roof("memory.bandwidth.set.l1.core");
    if (!read || !set) return std::nullopt;
    return std::max(8 * kernel.loads / *read, 8 * kernel.stores / *set);
  }
  const auto bandwidth = bandwidth_roof(level, context);
  if (!bandwidth) return std::nullopt;
  return kernel.bytes() / *bandwidth;
}

// Seconds an element by the roofline.
std::optional<double> best_seconds(const Kernel& kernel, const std::string& level,
                                   const ProbeContext& context) {
  const auto memory = best_memory_seconds(kernel, level, context);
  const auto peak = context.roof("peak.fma.core");
  if (!memory || !peak) return std::nullopt;
  // Every kernel takes one addition, multiplication or FMA an element, and the peak counts an FMA
  // twice.
  const double compute = kernel.flops > 0 ? 2 / *peak : 0;
  return std::max(*memory, compute);
}

void run_kernel(const Probe& probe, ProbeContext& context, const Kernel& kernel,
                const Level& level) {
  const core::ScopedBinding binding(home_pu(context));
  const KernelData data(kernel, level.core_bytes);
  context.progress(0.2);
  const core::Series series =
      measure_kernel(kernel, data, measure_options(context, 0.8 * context.budget_seconds()));
  const double per_element = kernel.flops > 0 ? kernel.flops : kernel.bytes();
  Result result = probe.result();
  result.parameters["level"] = level.name;
  result.parameters["elements"] = data.elements();
  result.parameters["flops_per_element"] = kernel.flops;
  result.parameters["bytes_per_element"] = kernel.bytes();
  result.parameters["simd_target"] = simd::target_name();
  if (const auto best = best_seconds(kernel, level.name, context)) {
    result.limit = Limit{per_element / *best, probe.limit_how};
  }
  set_samples(result, rates(series, per_element * static_cast<double>(data.elements())));
  context.report(std::move(result));
}

Probe kernel_probe(const Kernel& kernel, const Level& level) {
  Probe probe{
      .name = fmt::format("simd.{}.{}", kernel.name, level.name),
      .what = fmt::format("{} of doubles on one core with the data in {}", kernel.name, level.name),
      .unit = kernel.flops > 0 ? "FLOP/s" : "B/s",
      .better = Better::higher,
      .limit_how = level.name == "l1"
                       ? "roofline of peak.fma.core, and loads at memory.bandwidth.read.l1.core "
                         "beside stores at memory.bandwidth.set.l1.core"
                       : fmt::format("roofline of peak.fma.core and the highest of "
                                     "memory.bandwidth.*.{}.core",
                                     level.name),
      .seconds = 0.7,
      .quick_seconds = 0.13};
  probe.run = [probe, kernel, level](ProbeContext& context) {
    run_kernel(probe, context, kernel, level);
  };
  return probe;
}

// The rungs of one kernel.
std::vector<simd::Rung> rungs_of(std::string_view kernel) {
  std::vector<simd::Rung> rungs;
  std::ranges::copy_if(simd::ladder(), std::back_inserter(rungs),
                       [&](const simd::Rung& rung) { return rung.kernel == kernel; });
  return rungs;
}

// One row of the ladder: the rungs of a kernel measured in turn, and the kernel's roofline.
std::vector<RowsTable::Cell> ladder_row(const Kernel& kernel, const Level& level,
                                        const ProbeContext& context, double seconds) {
  const KernelData data(kernel, level.core_bytes);
  const Arrays arrays = data.arrays();
  std::vector<core::Competitor> competitors;
  for (const simd::Rung& rung : rungs_of(kernel.name)) {
    competitors.push_back({std::string(rung.variant), core::repeat([run = rung.run, arrays] {
                             core::keep(run(arrays.a.data(), arrays.b.data(), arrays.a.size()));
                           })});
  }
  std::vector<RowsTable::Cell> row;
  row.emplace_back(kernel.name);
  const double flops = kernel.flops * static_cast<double>(data.elements());
  for (const core::Series& series :
       core::measure_interleaved(std::move(competitors), measure_options(context, seconds))) {
    row.emplace_back(flops / series.median());
  }
  const auto best = best_seconds(kernel, level.name, context);
  row.emplace_back();
  if (best) row.back() = kernel.flops / *best;
  return row;
}

void run_ladder(const Probe& probe, ProbeContext& context) {
  const core::ScopedBinding binding(home_pu(context));
  const Level l1 = memory_levels(context.topology()).front();
  const auto climbs = [](const Kernel& kernel) { return !rungs_of(kernel.name).empty(); };
  const double rungs = static_cast<double>(simd::ladder().size());
  RowsTable rows;
  rows.columns = {{"kernel", ""}};
  for (const simd::Rung& rung : rungs_of(simd::ladder().front().kernel)) {
    rows.columns.push_back({std::string(rung.variant), "FLOP/s"});
  }
  rows.columns.push_back({"limit", "FLOP/s"});
  for (const Kernel& kernel : vector_kernels()) {
    if (!climbs(kernel)) continue;
    context.progress(static_cast<double>(rows.rows.size()) * 4 / rungs);
    rows.rows.push_back(ladder_row(kernel, l1, context, context.budget_seconds() / rungs));
  }
  Table table{.name = "ladder", .what = probe.what, .content = std::move(rows)};
  table.parameters["working_set_bytes"] = l1.core_bytes;
  table.parameters["simd_target"] = simd::target_name();
  context.report(std::move(table));
}

}  // namespace

std::vector<Probe> simd_probes(const core::Topology& topology) {
  std::vector<Probe> probes;
  for (const Level& level : memory_levels(topology)) {
    for (const Kernel& kernel : vector_kernels()) probes.push_back(kernel_probe(kernel, level));
  }
  Probe ladder{.name = "ladder",
               .what = "from the plain loop to the shipped kernel, data in l1, one core",
               .unit = "FLOP/s",
               .better = Better::higher,
               .seconds = 4,
               .quick_seconds = 0.6};
  ladder.run = [ladder](ProbeContext& context) { run_ladder(ladder, context); };
  probes.push_back(ladder);
  return probes;
}

}  // namespace tabane::lab
