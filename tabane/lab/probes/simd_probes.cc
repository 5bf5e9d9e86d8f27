// simd.<kernel>.<level>: tabane's kernels against the roofline of their level; the ladder of a
// kernel.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "tabane/core/binding.h"
#include "tabane/core/keep.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/kernels.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/simd/ladder.h"
#include "tabane/simd/peak.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kFmaIterations = 1024;

// The roofs of a level are measured in turn with what is held against them: on a shared machine the
// core may be twice as fast in one second as in the next, and a share of a limit taken in another
// second would mean nothing.
std::span<const Kernel> roof_kernels(const MemoryLevel& level) {
  return level.name == "l1" ? port_kernels() : memory_kernels();
}

std::vector<core::Competitor> roofs(const MemoryLevel& level, const WorkingSet& set) {
  std::vector<core::Competitor> roofs;
  for (const Kernel& kernel : roof_kernels(level)) {
    roofs.push_back(competitor(kernel, set.arrays_for(kernel)));
  }
  roofs.push_back(
      {"fma", core::repeat([] { core::keep(simd::peak_fma<double>(kFmaIterations)); })});
  return roofs;
}

// Whether a roof stands for a kernel: the same mix of loads and stores. Beyond the first cache all
// that load and store share one path, whatever their mix.
bool stands_for(const Kernel& roof, const Kernel& kernel, const MemoryLevel& level) {
  if ((roof.loads > 0) != (kernel.loads > 0) || (roof.stores > 0) != (kernel.stores > 0))
    return false;
  return level.name != "l1" || kernel.stores == 0 || roof.loads == kernel.loads;
}

// Seconds that the roofline allows for an element of the kernel. measured: the series of roofs().
double best_seconds(const Kernel& kernel, const MemoryLevel& level, const WorkingSet& set,
                    std::span<const core::Series> measured) {
  const auto kernels = roof_kernels(level);
  double of_byte = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!stands_for(kernels[i], kernel, level)) continue;
    const auto elements = static_cast<double>(set.arrays_for(kernels[i]).a.size());
    of_byte = std::min(of_byte, measured[i].median() / elements / kernels[i].bytes());
  }
  // Every kernel takes one addition, multiplication or FMA an element; the peak counts an FMA
  // twice.
  const double flops = static_cast<double>(simd::peak_fma<double>(kFmaIterations));
  const double compute = kernel.flops > 0 ? 2 * measured[kernels.size()].median() / flops : 0;
  return std::max(kernel.bytes() * of_byte, compute);
}

void run_kernel(const Probe& probe, ProbeContext& context, const Kernel& kernel,
                const MemoryLevel& level) {
  const core::ScopedBinding binding(home_pu(context));
  const WorkingSet set(level.core_bytes);
  const Arrays arrays = set.arrays_for(kernel);
  context.progress(0.2);
  std::vector<core::Competitor> competitors = roofs(level, set);
  competitors.push_back(competitor(kernel, arrays));
  const double seconds = 0.8 * context.budget_seconds() / static_cast<double>(competitors.size());
  const auto series =
      core::measure_interleaved(std::move(competitors), measure_options(context, seconds));
  const double per_element = kernel.flops > 0 ? kernel.flops : kernel.bytes();
  Result result = probe.result();
  result.details["level"] = level.name;
  result.details["elements"] = arrays.a.size();
  result.details[detail::kFlopsPerElement] = kernel.flops;
  result.details[detail::kBytesPerElement] = kernel.bytes();
  result.details["simd_target"] = simd::target_name();
  result.limit = Limit{per_element / best_seconds(kernel, level, set, series), probe.limit_how};
  set_samples(result, rates(series.back(), per_element * static_cast<double>(arrays.a.size())));
  context.report(std::move(result));
}

Probe kernel_probe(const Kernel& kernel, const MemoryLevel& level) {
  Probe probe{
      .name = fmt::format("simd.{}.{}", kernel.name, level.name),
      .what = fmt::format("{} of doubles on one core with the data in {}", kernel.name, level.name),
      .unit = kernel.flops > 0 ? "FLOP/s" : "B/s",
      .better = Better::higher,
      .limit_how = level.name == "l1"
                       ? "roofline, measured in turn: FMA peak, the same loads and stores alone"
                       : "roofline, measured in turn: FMA peak, the best bandwidth of read, set, "
                         "copy and triad in the same direction",
      .seconds = 0.7,
      .quick_seconds = 0.13};
  probe.run = [kernel, level](const Probe& about, ProbeContext& context) {
    run_kernel(about, context, kernel, level);
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

// One row of the ladder: the rungs of a kernel and its roofs measured in turn.
std::vector<Entry> ladder_row(const Kernel& kernel, const MemoryLevel& level,
                              const ProbeContext& context, double seconds) {
  const WorkingSet set(level.core_bytes);
  const Arrays arrays = set.arrays_for(kernel);
  std::vector<core::Competitor> competitors = roofs(level, set);
  const std::size_t first_rung = competitors.size();
  for (const simd::Rung& rung : rungs_of(kernel.name)) {
    competitors.push_back({std::string(rung.variant), core::repeat([run = rung.run, arrays] {
                             core::keep(run(arrays.a.data(), arrays.b.data(), arrays.a.size()));
                           })});
  }
  const auto series =
      core::measure_interleaved(std::move(competitors), measure_options(context, seconds));
  std::vector<Entry> row = {kernel.name};
  const double flops = kernel.flops * static_cast<double>(arrays.a.size());
  for (std::size_t i = first_rung; i < series.size(); ++i)
    row.emplace_back(flops / series[i].median(), "FLOP/s");
  row.emplace_back(kernel.flops / best_seconds(kernel, level, set, series), "FLOP/s");
  return row;
}

void run_ladder(const Probe& probe, ProbeContext& context) {
  const core::ScopedBinding binding(home_pu(context));
  const MemoryLevel l1 = memory_levels(context.topology()).front();
  const auto climbs = [](const Kernel& kernel) { return !rungs_of(kernel.name).empty(); };
  const double rungs = static_cast<double>(simd::ladder().size());
  Rows rows;
  rows.columns = {"kernel"};
  for (const simd::Rung& rung : rungs_of(simd::ladder().front().kernel)) {
    rows.columns.emplace_back(rung.variant);
  }
  rows.columns.emplace_back("limit");
  for (const Kernel& kernel : vector_kernels()) {
    if (!climbs(kernel)) continue;
    context.progress(static_cast<double>(rows.rows.size()) * 4 / rungs);
    rows.rows.push_back(ladder_row(kernel, l1, context, context.budget_seconds() / (2 * rungs)));
  }
  View table{.name = "ladder", .title = probe.what, .content = std::move(rows)};
  table.details["working_set_bytes"] = l1.core_bytes;
  table.details["simd_target"] = simd::target_name();
  context.report(std::move(table));
}

}  // namespace

std::vector<Probe> simd_probes(const core::Topology& topology) {
  std::vector<Probe> probes;
  for (const MemoryLevel& level : memory_levels(topology)) {
    for (const Kernel& kernel : vector_kernels()) probes.push_back(kernel_probe(kernel, level));
  }
  Probe ladder{.name = "ladder",
               .what = "from the plain loop to the shipped kernel, data in l1, one core",
               .unit = "FLOP/s",
               .better = Better::higher,
               .seconds = 4,
               .quick_seconds = 0.6};
  ladder.run = run_ladder;
  probes.push_back(ladder);
  return probes;
}

}  // namespace tabane::lab
