#include "tabane/studies/ha8000/ha8000.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "tabane/core/binding.h"
#include "tabane/core/core_rate.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/study/study.h"
#include "tabane/lab/survey/survey.h"

#if defined(__clang__)
#define TABANE_NOT_OPTIMISED __attribute__((optnone, noinline))
#else
#define TABANE_NOT_OPTIMISED __attribute__((optimize("O0"), noinline))
#endif

namespace tabane::lab {
namespace {

// ---- ten dependent operations an iteration ----

// Iterations of ten a = a + a (or a = a * a), not optimised: every step goes through memory.
TABANE_NOT_OPTIMISED void add_chain_not_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
    a = a + a;
  }
  core::keep(a);
}

TABANE_NOT_OPTIMISED void mul_chain_not_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
    a = a * a;
  }
  core::keep(a);
}

// The same optimised. start: comes from outside, so that the compiler cannot work the chain out.
void add_chain_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    for (int k = 0; k < 10; ++k) a = a + a;
  }
  core::keep(a);
}

void mul_chain_optimised(std::uint64_t iterations, double start) {
  double a = start;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    for (int k = 0; k < 10; ++k) a = a * a;
  }
  core::keep(a);
}

// ---- the study ----

constexpr About kAboutHa8000 = {
    "ha8000", "Clock-level timing, running on a chosen CPU, memory in a chosen place, SIMD", ""};
constexpr const char* kHere = "this machine";
constexpr const char* kReport = "HA8000 (Opteron 8356)";

// Core cycles of one iteration of a chain, against a chain of one-cycle additions measured in turn.
std::vector<double> cycles_per_iteration(void (*chain)(std::uint64_t, double), bool quick) {
  core::MeasureOptions options;
  options.budget_seconds = quick ? 0.05 : 0.3;
  double start = 1.0;
  core::forget(start);
  const auto series =
      core::measure_interleaved({{"chain", [=](std::uint64_t n) { chain(n, start); }},
                                 {"cycles", [](std::uint64_t n) { core::run_add_chain(n * 64); }}},
                                options);
  std::vector<double> cycles;
  for (std::size_t i = 0; i < series[0].samples.size(); ++i)
    cycles.push_back(64 * series[0].samples[i] / series[1].samples[i]);
  return cycles;
}

struct Chain {
  const char* name;  // of the result, below ha8000.chain
  const char* what;
  const char* shown;  // below its bars
  void (*run)(std::uint64_t, double);
};

constexpr Chain kChains[] = {
    {"add.not_optimised", "ten a = a + a, not optimised", "+ not optimised",
     add_chain_not_optimised},
    {"mul.not_optimised", "ten a = a * a, not optimised", "x not optimised",
     mul_chain_not_optimised},
    {"add.optimised", "ten a = a + a, optimised", "+ optimised", add_chain_optimised},
    {"mul.optimised", "ten a = a * a, optimised", "x optimised", mul_chain_optimised}};

void time_clocks(const StudyViews& views, Record& record, bool quick) {
  Rows rows{{"iteration", kHere, kReport}, {}};
  Bars bars{.unit = "cycles", .bars = {}, .clustered = true};
  double last = 0;
  for (const Chain& chain : kChains) {
    Result& result = add_result(record, std::string("chain.") + chain.name, chain.what,
                                {std::nullopt, "cycles"}, Better::lower);
    set_samples(result, cycles_per_iteration(chain.run, quick));
    last = *result.value;
    const Entry published = published_entry(views.report, result.name);
    rows.rows.push_back({chain.what, {last, "cycles", result.interval}, published});
    bars.bars.push_back({.group = chain.shown, .label = kHere, .value = last});
    bars.bars.push_back({.group = chain.shown, .label = kReport, .value = published.value});
  }
  const CaptionValues values = {{"cycles", fmt::format("{:.1f}", last / 10)}};
  views.table("clocks.table", std::move(rows), {{"note", views.caption("clocks", values).note}});
  views.chart("clocks", std::move(bars), values);
}

constexpr std::size_t kMostCpus = 64;  // in the table

struct OnCpu {
  int runs_on = -1;  // < 0: the system refused
  std::optional<double> rate;
};

OnCpu run_on(unsigned cpu, bool timed, bool quick) {
  try {
    const core::ScopedBinding binding(cpu);
    OnCpu found{sched_getcpu(), {}};
    if (timed) found.rate = core::measure_core_rate(quick ? 0.005 : 0.05);
    return found;
  } catch (const core::SystemError&) {
    return {};
  }
}

void run_on_each_cpu(const StudyViews& views, const core::Topology& topology, bool quick) {
  Rows rows{{"CPU", "runs on", "core", "package", "node", "core rate"}, {}};
  Curve curve{.name = kHere, .x = {}, .y = {}, .joined = false};
  std::size_t wrong = 0;
  for (const core::Pu& pu : topology.pus()) {
    const bool shown = rows.rows.size() < kMostCpus;
    const OnCpu found = run_on(pu.os_index, shown, quick);
    wrong += found.runs_on != static_cast<int>(pu.os_index);
    if (!shown) continue;
    rows.rows.push_back({count_entry(pu.os_index),
                         found.runs_on < 0 ? Entry("refused") : count_entry(found.runs_on),
                         count_entry(pu.core),
                         count_entry(pu.package),
                         count_entry(pu.numa_node),
                         {found.rate, "Hz"}});
    if (!found.rate) continue;
    curve.x.push_back(pu.os_index);
    curve.y.push_back(*found.rate);
  }
  const std::string cpus = std::to_string(topology.pus().size());
  CaptionValues values = wrong == 0
                             ? CaptionValues{{"all", cpus}}
                             : CaptionValues{{"wrong", std::to_string(wrong)}, {"cpus", cpus}};
  if (topology.pus().size() > kMostCpus) values["first"] = std::to_string(kMostCpus);
  views.table("cpus.table", std::move(rows), {{"note", views.caption("cpus", values).note}});
  Curves curves{{"CPU", "1"}, {"core rate", "Hz"}, {}};
  add_curve(curves, std::move(curve));
  if (const Result* rate = views.report.find("clock.core_rate"); rate != nullptr && rate->value)
    curves.marks.push_back({*rate->value, kReport, false});
  views.chart("cpus", std::move(curves), values);
}

// One row per node that writes; a column per node that has the memory.
void add_pass(Rows& rows, const Matrix& matrix, const std::string& what, std::size_t columns) {
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    std::vector<Entry> row = {fmt::format("{}, from {}", what, matrix.rows[i])};
    for (const auto& value : matrix.values[i]) row.emplace_back(value, "B/s");
    row.resize(columns);
    rows.rows.push_back(std::move(row));
  }
}

// Writing from each node to one column, as shares of writing from the column's own node.
void add_shares(Bars& bars, const Matrix& matrix, std::size_t column, const char* label) {
  std::optional<double> own;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i)
    if (matrix.rows[i] == matrix.columns[column]) own = matrix.values[i][column];
  if (!own) return;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    const auto& value = matrix.values[i][column];
    const std::optional<double> share = value ? std::optional(*value / *own) : std::nullopt;
    bars.bars.push_back({.group = "from " + matrix.rows[i], .label = label, .value = share});
  }
}

void place_memory(const StudyViews& views, const Record& record) {
  const auto* first = find_content<Matrix>(record, "numa.bandwidth.first");
  const auto* second = find_content<Matrix>(record, "numa.bandwidth.second");
  const auto* theirs = find_content<Matrix>(views.report, "numa.bandwidth.second");
  const auto* theirs_first = find_content<Matrix>(views.report, "numa.bandwidth.first");
  if (first == nullptr || second == nullptr) return;
  Rows rows{{"writing"}, {}};
  for (const std::string& column : second->columns) rows.columns.push_back("to " + column);
  add_pass(rows, *first, "first pass", rows.columns.size());
  add_pass(rows, *second, "second pass", rows.columns.size());
  views.table("places.here", std::move(rows));
  Rows report{{"writing", "to node 1"}, {}};
  add_pass(report, *theirs_first, "first pass", 2);
  add_pass(report, *theirs, "second pass", 2);
  views.table("places.report", std::move(report), {{"machine", kReport}});
  if (second->rows.size() < 2) return;  // with one node there is no other place
  Bars bars{.unit = "share", .bars = {}, .reference = 1.0, .clustered = true};
  add_shares(bars, *second, second->columns.size() > 1 ? 1 : 0, kHere);
  add_shares(bars, *theirs, 0, kReport);
  views.chart("places", std::move(bars));
}

Entry entry_at(const Rows& rows, const std::string& kernel, std::string_view column) {
  const auto found = std::find(rows.columns.begin(), rows.columns.end(), column);
  const auto i = static_cast<std::size_t>(found - rows.columns.begin());
  for (const auto& row : rows.rows)
    if (i < row.size() && row.front().text == kernel) return row[i];
  return {};
}

Entry share_of(const Entry& part, const Entry& whole) {
  if (!part.value || !whole.value) return {};
  return {*part.value / *whole.value, "share"};
}

// The fastest variant of a kernel that the guide has.
Entry best_published(const Rows& ladder, const std::string& kernel) {
  Entry best;
  for (const char* variant : {"plain loop", "one accumulator", "unrolled"})
    if (Entry entry = entry_at(ladder, kernel, variant);
        entry.value.value_or(0) > best.value.value_or(0))
      best = entry;
  return best;
}

void climb_ladder(const StudyViews& views, const Record& record) {
  const auto* ladder = find_content<Rows>(record, "ladder");
  const auto* theirs = find_content<Rows>(views.report, "ladder");
  if (ladder == nullptr) return;
  Rows rows{{"kernel", "machine", "plain loop", "one accumulator", "unrolled", "shipped", "limit",
             "share of limit"},
            {}};
  Bars bars{.unit = "share", .bars = {}, .reference = 1.0, .clustered = true};
  const auto add = [&](const std::string& kernel, const char* machine, const Rows& from,
                       const Entry& best) {
    std::vector<Entry> row = {kernel, machine};
    while (row.size() + 1 < rows.columns.size())
      row.push_back(entry_at(from, kernel, rows.columns[row.size()]));
    row.push_back(share_of(best, row.back()));
    bars.bars.push_back({.group = kernel, .label = machine, .value = row.back().value});
    rows.rows.push_back(std::move(row));
  };
  for (const auto& row : ladder->rows) {
    const std::string& kernel = row.front().text;
    add(kernel, kHere, *ladder, entry_at(*ladder, kernel, "shipped"));
    add(kernel, kReport, *theirs, best_published(*theirs, kernel));
  }
  views.table("simd.table", std::move(rows));
  views.chart("simd", std::move(bars));
}

}  // namespace

Record run_ha8000(const core::Topology& topology, bool quick, const Hooks& hooks) {
  const Record& report = published("ha8000");
  RunningStudy running(topology, kAboutHa8000, quick);
  Record& record = running.record;
  record.source = report.source + "; its machine: " + report.title;
  add_probes(
      record, topology,
      std::vector<std::string>{"clock.core_rate", "peak.fma.core", "memory.bandwidth.read.l1.core",
                               "memory.bandwidth.set.l1.core", "ladder", "numa.bandwidth"},
      hooks);
  Record made;  // its views come before the survey's
  made.name = record.name;
  const Points none;
  const StudyViews views{made, none, report};
  if (record.complete) {
    time_clocks(views, record, quick);
    run_on_each_cpu(views, topology, quick);
  }
  place_memory(views, record);
  climb_ladder(views, record);
  record.views.insert(record.views.begin(), std::make_move_iterator(made.views.begin()),
                      std::make_move_iterator(made.views.end()));
  return running.finish();
}

}  // namespace tabane::lab
