// latency.*: cycles of a dependent operation; peak.*: operations a second when nothing depends.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tabane/core/binding.h"
#include "tabane/core/core_rate.h"
#include "tabane/core/measurement.h"
#include "tabane/core/threads.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/working_set.h"
#include "tabane/lab/record/text.h"
#include "tabane/simd/ladder.h"
#include "tabane/simd/roof.h"
#include "tabane/simd/target.h"

namespace tabane::lab {
namespace {

constexpr std::uint64_t kChain = 64;  // operations between two looks at the loop counter

// Hides the value from the optimiser inside its vector register: without this the compiler may work
// the chain out beforehand, as the report warns, or reorder it; a memory constraint would add a
// store and a load to the latency.
inline void hide(double& value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

inline void chain(std::uint64_t operations, auto step) {
  double a = 1.0, b = 1.0;
  hide(a);
  hide(b);
  for (std::uint64_t done = 0; done < operations; done += kChain) {
#pragma GCC unroll 64
    for (std::uint64_t k = 0; k < kChain; ++k) {
      step(a, b);
      hide(a);
    }
  }
  core::keep(a);
}

void add_chain(std::uint64_t operations) {
  chain(operations, [](double& a, double b) { a = a + b; });
}

void mul_chain(std::uint64_t operations) {
  chain(operations, [](double& a, double b) { a = a * b; });
}

#if defined(__x86_64__)
bool has_fma() { return __builtin_cpu_supports("fma"); }
__attribute__((target("fma"))) void fma_chain(std::uint64_t operations) {
  double a = 1.0, b = 0.5;
  hide(b);
  for (std::uint64_t done = 0; done < operations; done += kChain) {
#pragma GCC unroll 64
    for (std::uint64_t k = 0; k < kChain; ++k) {
      hide(a);
      a = __builtin_fma(a, b, b);
    }
  }
  core::keep(a);
}
#else
bool has_fma() { return true; }
void fma_chain(std::uint64_t operations) {
  chain(operations, [](double& a, double b) { a = __builtin_fma(a, b, b); });
}
#endif

// Measures the chain in turn with a chain of integer additions, which takes one core cycle each:
// the ratio is the latency in core cycles, whatever the core's rate does meanwhile. The fastest
// epoch of each counts: a sibling on the same core takes issue slots from the additions, which need
// one in every cycle, and hardly any from a chain that waits.
void run_operation_latency(const Probe& probe, ProbeContext& context,
                           void (*operation_chain)(std::uint64_t)) {
  const core::ScopedBinding binding(home_pu(context));
  const auto in_chains = [](void (*f)(std::uint64_t)) {
    return [f](std::uint64_t iterations) { f(iterations * kChain); };
  };
  core::MeasureOptions options = measure_options(context, context.budget_seconds() / 2);
  options.min_epochs = 15;
  const auto series = core::measure_interleaved(
      {{"operation", in_chains(operation_chain)},
       {"cycle", [](std::uint64_t iterations) { core::run_add_chain(iterations * kChain); }}},
      options);
  const auto least = [](const core::Series& one) { return std::ranges::min(one.samples); };
  context.report(probe.result(
      {least(series[0]) / least(series[1])},
      {{"operand", "double"}, {"chain", "each operation needs the result of the one before"}}));
}

Probe latency_probe(const char* operation, void (*operation_chain)(std::uint64_t)) {
  Probe probe{
      .name = fmt::format("latency.{}", operation),
      .what = fmt::format("core cycles until the result of a double {} can be used", operation),
      .unit = "cycles",
      .better = Better::lower,
      .version = 2,
      .seconds = {0.5, 0.1}};
  probe.run = [operation_chain, needs_fma = std::string_view(operation) == "fma"](
                  const Probe& about, ProbeContext& context) {
    if (needs_fma && !has_fma()) throw NotHere("this processor has no fused multiply-add");
    run_operation_latency(about, context, operation_chain);
  };
  return probe;
}

constexpr std::uint64_t kPeakIterations = 4096;

// One core; name: of the result.
void measure_peak(const Probe& probe, ProbeContext& context, unsigned pu, std::string name,
                  std::string what) {
  const core::ScopedBinding binding(pu);
  std::uint64_t flops = 0;
  constexpr std::uint64_t kAdds = 64 * 1024;
  const auto series = core::measure_interleaved(
      {{probe.name, core::repeat([&] { flops = simd::peak_fma(kPeakIterations); })},
       {"cycle", core::repeat([] { core::run_add_chain(kAdds); })}},
      measure_options(context, context.budget_seconds() / 2));
  const double per_cycle =
      static_cast<double>(flops) / series[0].median() * series[1].median() / kAdds;
  Result result =
      probe.result(rates(series[0], static_cast<double>(flops)),
                   {{"simd_target", simd::target_name()}, {"flops_per_cycle", per_cycle}});
  result.name = std::move(name);
  result.what = std::move(what);
  context.report(std::move(result));
}

// Of several kinds of cores each gets a figure of its own; that of the fastest represents "one
// core".
void run_peak_core(const Probe& probe, ProbeContext& context) {
  measure_peak(probe, context, home_pu(context), probe.name, probe.what);
  for (const core::CpuKind& kind : context.topology().cpu_kinds())
    measure_peak(probe, context, kind.pus.back(), probe.name + "." + kind.name,
                 fmt::format("the same on a core of the kind {}", kind.name));
}

void run_peak_machine(const Probe& probe, ProbeContext& context) {
  const std::vector<unsigned> pus = one_pu_per_core(context.topology());
  core::PinnedPool pool(pus);
  const auto on = [&](const char* name, std::size_t workers) {
    core::Contender contender{.name = name, .work = {}};
    contender.timed = [&, workers](std::uint64_t iterations) {
      return core::signed_seconds(core::time_together(pool, workers, [&](std::size_t) {
        for (std::uint64_t k = 0; k < iterations; ++k) core::keep(simd::peak_fma(kPeakIterations));
      }));
    };
    return contender;
  };
  const auto series = core::measure_interleaved(
      {on("all", pus.size()), on("alone", 1)},
      parallel_options(context, context.budget_seconds() / 2, pus.size()));
  const double flops =
      static_cast<double>(simd::peak_fma(kPeakIterations)) * static_cast<double>(pus.size());
  Result result = probe.result();
  result.details["cores"] = pus.size();
  result.details[detail::kSynchronisation] = kStartedTogether;
  const bool uniform = context.topology().cpu_kinds().empty();
  if (refuse_disturbed(result, series[0], rates(series[0], flops)) && pus.size() > 1 && uniform)
    set_limit(result, probe.limit_how, rates(series[1], flops));
  context.report(std::move(result));
}

}  // namespace

std::vector<Probe> compute_probes(const core::Topology&) {
  return {latency_probe("add", add_chain),
          latency_probe("mul", mul_chain),
          latency_probe("fma", fma_chain),
          {.name = "peak.fma.core",
           .what = "double operations a second of one core, multiply-adds on registers only",
           .unit = "FLOP/s",
           .better = Better::higher,
           .version = 2,
           .seconds = {1, 0.3},
           .run = run_peak_core},
          {.name = "peak.fma.machine",
           .what = "the same on one PU of every usable core at once",
           .unit = "FLOP/s",
           .better = Better::higher,
           .limit_how = "cores × one core alone, measured in turn",
           .version = 2,
           .seconds = {1, 0.3},
           .run = run_peak_machine}};
}

// ladder: from a plain loop to the shipped kernel.

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
  std::vector<core::Contender> contenders = {
      {"roof", roof.on(set)},
      {"fma", core::repeat([] { core::keep(simd::peak_fma(kFmaIterations)); })}};
  const std::size_t first_rung = contenders.size();
  const Arrays arrays = set.next(kernel.mix);
  for (const simd::Rung& rung : rungs_of(kernel.name)) {
    contenders.push_back({std::string(rung.variant), core::repeat([run = rung.run, arrays] {
                            core::keep(run(arrays.a.data(), arrays.b.data(), arrays.a.size()));
                          })});
  }
  const auto series =
      core::measure_interleaved(std::move(contenders), measure_options(context, seconds));
  std::vector<Entry> row = {kernel.name};
  const auto elements = static_cast<double>(arrays.a.size());
  const double flops = kernel.flops * elements;
  for (std::size_t i = first_rung; i < series.size(); ++i)
    row.emplace_back(flops / series[i].median(), "FLOP/s");
  const double fma_flops = static_cast<double>(simd::peak_fma(kFmaIterations));
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
  Rows rows{{"kernel"}, {}};
  for (const simd::Rung& rung : rungs_of(simd::ladder().front().kernel))
    rows.columns.emplace_back(rung.variant);
  rows.columns.emplace_back("limit");
  for (const Kernel& kernel : vector_kernels()) {
    if (!climbs(kernel)) continue;
    context.progress(static_cast<double>(rows.rows.size()) * 4 / rungs);
    rows.rows.push_back(
        ladder_row(kernel, l1, set, context, context.budget_seconds() / (2 * rungs)));
  }
  context.report(
      View{.name = "ladder",
           .title = probe.what,
           .details = {{"working_set_bytes", l1.core_bytes}, {"simd_target", simd::target_name()}},
           .content = std::move(rows)});
  context.report(
      {.name = "ladder.chart", .title = "tabane's vector loops, step by step", .content = Bars()},
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
  return fmt::format(
      "What each step of the optimisation of tabane's own loops brings on one core, with the data "
      "in L1{}. Plain loop: as the compiler makes it, additions in order. One accumulator: vectors "
      "with one running sum. Unrolled: four of them. Shipped: the loop of tabane's library. {}",
      shares ? ", as a share of what the machine allows" : "", text);
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
  return {{.name = "ladder",
           .what = "from the plain loop to the shipped kernel, data in L1, one core",
           .unit = "FLOP/s",
           .better = Better::higher,
           .version = 3,
           .seconds = {1.5, 0.5},
           .run = run_ladder}};
}

}  // namespace tabane::lab
