// ladder: from a plain loop to the shipped kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tabane/core/binding.h"
#include "tabane/core/keep.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/level_sets.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/lab/probes/views.h"
#include "tabane/lab/record/text.h"
#include "tabane/simd/ladder.h"
#include "tabane/simd/peak.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kFmaIterations = 1024;

// The rungs of one kernel.
std::vector<simd::Rung> rungs_of(std::string_view kernel) {
  std::vector<simd::Rung> rungs;
  std::ranges::copy_if(simd::ladder(), std::back_inserter(rungs),
                       [&](const simd::Rung& rung) { return rung.kernel == kernel; });
  return rungs;
}

// One row of the ladder: the rungs of a kernel, its roof and multiply-adds measured in turn.
std::vector<Entry> ladder_row(const Kernel& kernel, const MemoryLevel& level, WorkingSet& set,
                              ProbeContext& context, double seconds) {
  const Loop& roof = core_roofs(context, level, set, kernel.mix).front();
  std::vector<core::Competitor> competitors = {
      {"roof", roof.on(set)},
      {"fma", core::repeat([] { core::keep(simd::peak_fma<double>(kFmaIterations)); })}};
  const std::size_t first_rung = competitors.size();
  const Arrays arrays = set.next(kernel.mix);
  for (const simd::Rung& rung : rungs_of(kernel.name)) {
    competitors.push_back({std::string(rung.variant), core::repeat([run = rung.run, arrays] {
                             core::keep(run(arrays.a.data(), arrays.b.data(), arrays.a.size()));
                           })});
  }
  const auto series =
      core::measure_interleaved(std::move(competitors), measure_options(context, seconds));
  std::vector<Entry> row = {kernel.name};
  const auto elements = static_cast<double>(arrays.a.size());
  const double flops = kernel.flops * elements;
  for (std::size_t i = first_rung; i < series.size(); ++i)
    row.emplace_back(flops / series[i].median(), "FLOP/s");
  const double fma_flops = static_cast<double>(simd::peak_fma<double>(kFmaIterations));
  const double computing = 2 * elements / fma_flops * series[1].median();
  row.emplace_back(flops / std::max(series[0].median(), computing), "FLOP/s");
  return row;
}

void run_ladder(const Probe& probe, ProbeContext& context) {
  const core::ScopedBinding binding(home_pu(context));
  const MemoryLevel& l1 = memory_levels(context).front();
  WorkingSet& set = core_set(context, l1);
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
    rows.rows.push_back(
        ladder_row(kernel, l1, set, context, context.budget_seconds() / (2 * rungs)));
  }
  View table{.name = "ladder", .title = probe.what, .content = std::move(rows)};
  table.details["working_set_bytes"] = l1.core_bytes;
  table.details["simd_target"] = simd::target_name();
  context.report(std::move(table));
  context.report({.name = "ladder.chart", .title = "The ladder of a kernel", .content = Bars()},
                 describe_ladder_chart);
}

std::optional<double> rate_of(const Entry& entry) {
  return entry.value && *entry.value > 0 && std::isfinite(*entry.value) ? entry.value
                                                                        : std::nullopt;
}

// table: a column of kernels, those of the rungs, and that of the limit. shares: every row has one.
std::string note_of(const Rows& table, bool shares) {
  const std::size_t limit = table.columns.size() - 1, last = limit - 1;
  double best = 0;
  std::string text;
  for (const auto& row : table.rows) {
    const auto from = rate_of(row[1]), to = rate_of(row[last]);
    if (!from || !to || *to / *from <= best) continue;
    best = *to / *from;
    text = fmt::format("{} gains most: {} is {:.3g} times as fast as {}", row.front().text,
                       table.columns[last], best, table.columns[1]);
    if (shares)
      text += fmt::format(" and reaches {} of the limit", show_percent(*to / *rate_of(row[limit])));
    text += ".";
  }
  if (text.empty()) text = "No kernel was measured at both ends of the ladder.";
  return fmt::format("What each step of the optimisation brings, kernel by kernel{}. {}",
                     shares ? ", as a share of the kernel's limit" : "", text);
}

}  // namespace

void describe_ladder_chart(View& view, const Record& record) {
  const auto& table = *find_content<Rows>(record, "ladder");
  const std::size_t limit = table.columns.size() - 1;
  const bool shares = std::ranges::all_of(
      table.rows, [&](const auto& row) { return rate_of(row[limit]).has_value(); });
  Bars bars{.unit = shares ? "share" : "FLOP/s", .bars = {}, .clustered = true};
  if (shares) bars.reference = 1;
  for (const auto& row : table.rows) {
    for (std::size_t rung = 1; rung < limit; ++rung) {
      Bar bar{row.front().text, table.columns[rung], rate_of(row[rung])};
      if (bar.value && shares) {
        bar.remark = show(*bar.value, row[rung].unit);
        *bar.value /= *rate_of(row[limit]);
      }
      bars.bars.push_back(std::move(bar));
    }
  }
  view.note = note_of(table, shares);
  view.content = std::move(bars);
}

std::vector<Probe> ladder_probes(const core::Topology&) {
  Probe ladder{.name = "ladder",
               .what = "from the plain loop to the shipped kernel, data in l1, one core",
               .unit = "FLOP/s",
               .better = Better::higher,
               .version = 2,
               .seconds = 1.5,
               .quick_seconds = 0.5};
  ladder.run = run_ladder;
  return {ladder};
}

}  // namespace tabane::lab
