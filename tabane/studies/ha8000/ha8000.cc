#include "tabane/studies/ha8000/ha8000.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/study/study.h"
#include "tabane/lab/survey/survey.h"
#include "tabane/studies/ha8000/chains.h"

namespace tabane::lab {
namespace {

using namespace ha8000;

constexpr About kAboutHa8000 = {
    "ha8000", "Clock-level timing, running on a chosen CPU, memory in a chosen place, SIMD", ""};

// ---- ten dependent operations an iteration ----

using Chain = double (*)(std::uint64_t, double);

struct OptimisationLevel {
  const char* name;
  Chain add, multiply;
};

constexpr OptimisationLevel kLevels[] = {{"O0", add_chain<0>, multiply_chain<0>},
                                         {"O1", add_chain<1>, multiply_chain<1>},
                                         {"O2", add_chain<2>, multiply_chain<2>}};

const char* compiler() {
#if defined(__clang__)
  return __VERSION__;
#else
  return "GCC " __VERSION__;
#endif
}

// Core cycles of one iteration of each chain, the additions of all levels first, against a chain of
// one-cycle additions measured in turn.
std::vector<std::vector<double>> cycles_per_iteration(bool quick) {
  std::vector<core::Contender> contenders;
  double start = 1.0;
  core::forget(start);
  const auto add = [&](Chain chain) {
    contenders.push_back({"chain", [=](std::uint64_t n) { core::keep(chain(n, start)); }});
  };
  for (const OptimisationLevel& level : kLevels) add(level.add);
  for (const OptimisationLevel& level : kLevels) add(level.multiply);
  contenders.push_back({"cycles", [](std::uint64_t n) { core::run_add_chain(n * 64); }});
  const auto series =
      core::measure_interleaved(std::move(contenders), {.budget_seconds = quick ? 0.03 : 0.2});
  std::vector<std::vector<double>> cycles(series.size() - 1);
  for (std::size_t i = 0; i < cycles.size(); ++i)
    for (std::size_t k = 0; k < series[i].samples.size(); ++k)
      cycles[i].push_back(64 * series[i].samples[k] / series.back().samples[k]);
  return cycles;
}

void show_clocks(const StudyViews& views, Record& record,
                 const std::vector<std::vector<double>>& cycles) {
  Rows rows{{"optimisation", "a + a here", "a * a here", "a + a, gcc, HA8000", "a * a, gcc, HA8000",
             "a + a, icc, HA8000", "a * a, icc, HA8000"},
            {}};
  for (const OptimisationLevel& level : kLevels)
    rows.rows.push_back({fmt::format("-{}", level.name)});
  Bars bars{.unit = "cycles", .bars = {}, .clustered = true};
  double last = 0;
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    const std::size_t row = i % std::size(kLevels);
    const bool adds = i < std::size(kLevels);
    const char *operation = adds ? "add" : "mul", *level = kLevels[row].name;
    Result& result = add_result(record, fmt::format("chain.{}.{}", operation, level),
                                fmt::format("ten dependent {}, {}, -{}",
                                            adds ? "a = a + a" : "a = a * a", compiler(), level),
                                {std::nullopt, "cycles"}, Better::lower);
    set_samples(result, cycles[i]);
    last = *result.value;
    const Entry shown[] = {{last, "cycles", result.interval},
                           views.published(fmt::format("chain.{}.{}", operation, level)),
                           views.published(fmt::format("chain.{}.icc.{}", operation, level))};
    const std::string group = fmt::format("{} -{}", adds ? "+" : "x", level);
    const std::string labels[] = {kHere, fmt::format("{}, gcc", kReport),
                                  fmt::format("{}, icc", kReport)};
    rows.rows[row].resize(rows.columns.size());
    for (std::size_t k = 0; k < std::size(shown); ++k) {
      rows.rows[row][1 + 2 * k + (adds ? 0 : 1)] = shown[k];
      bars.bars.push_back({.group = group, .label = labels[k], .value = shown[k].value});
    }
  }
  const CaptionValues values = {{"cycles", fmt::format("{:.1f}", last / 10)},
                                {"compiler", compiler()}};
  views.table("clocks.table", std::move(rows), values);
  views.chart("clocks", std::move(bars), values);
}

// ---- every CPU ----

constexpr std::size_t kMostCpus = 64;  // in the table

OnCpu run_on(unsigned cpu, unsigned first, bool timed, bool quick) {
  OnCpu found;
  try {
    const core::ScopedBinding binding(cpu);
    found.runs_on = sched_getcpu();
    if (!timed) return found;
    found.rate = core::measure_core_rate(quick ? 0.005 : 0.05);
    found.tick_rate = core::calibrate_ticks(quick ? 0.01 : 0.05).ticks_per_second;
  } catch (const core::SystemError&) {
    return {};
  }
  if (cpu == first) return found;
  try {
    found.skew = core::measure_tick_skew(first, cpu, 500);
  } catch (const core::SystemError&) {  // the first CPU was refused
  }
  return found;
}

std::vector<OnCpu> run_on_each_cpu(const core::Topology& topology, bool quick) {
  std::vector<OnCpu> all;
  for (const core::Pu& pu : topology.pus())
    all.push_back(
        run_on(pu.os_index, topology.pus().front().os_index, all.size() < kMostCpus, quick));
  return all;
}

void show_cpus(const StudyViews& views, Record& record, const core::Topology& topology,
               const std::vector<OnCpu>& all) {
  Rows rows{{"CPU", "runs on", "core", "package", "node", "core rate", "tick rate",
             "its ticks - the first CPU's"},
            {}};
  Curve curve{.name = kHere, .x = {}, .y = {}, .joined = false};
  std::vector<double> tick_rates;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const core::Pu& pu = topology.pus()[i];
    const OnCpu& found = all[i];
    wrong += found.runs_on != static_cast<int>(pu.os_index);
    if (i >= kMostCpus) continue;
    std::string skew;
    if (found.skew)
      skew = fmt::format("{:.0f} ± {:.0f}", found.skew->offset_ticks, found.skew->bound_ticks);
    rows.rows.push_back({count_entry(pu.os_index),
                         found.runs_on < 0 ? Entry("refused") : count_entry(found.runs_on),
                         count_entry(pu.core),
                         count_entry(pu.package),
                         count_entry(pu.numa_node),
                         {found.rate, "Hz"},
                         {found.tick_rate, "Hz"},
                         skew});
    if (found.tick_rate) tick_rates.push_back(*found.tick_rate);
    if (!found.rate) continue;
    curve.x.push_back(pu.os_index);
    curve.y.push_back(*found.rate);
  }
  const std::string cpus = std::to_string(topology.pus().size());
  CaptionValues values = wrong == 0
                             ? CaptionValues{{"all", cpus}}
                             : CaptionValues{{"wrong", std::to_string(wrong)}, {"cpus", cpus}};
  if (topology.pus().size() > kMostCpus) values["first"] = std::to_string(kMostCpus);
  if (!tick_rates.empty()) {
    const auto [least, most] = std::ranges::minmax(tick_rates);
    values["rates"] = fmt::format("{:.2g}", 1e6 * (most / least - 1));
    Result& result =
        add_result(record, "tick_rate", "Rate of the tick counter, calibrated on each CPU",
                   {std::nullopt, "Hz"}, Better::neither);
    set_samples(result, std::move(tick_rates));
    result.details[detail::kRemark] = "a sample for each CPU";
  }
  views.table("cpus.table", std::move(rows), values);
  Curves curves{{"CPU", "1"}, {"core rate", "Hz"}, {}};
  add_curve(curves, std::move(curve));
  if (const Result* rate = views.report.find("clock.core_rate"); rate != nullptr && rate->value)
    curves.marks.push_back({*rate->value, kReport, false});
  views.chart("cpus", std::move(curves));
}

// ---- memory in a chosen place ----

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
  Rows report{{"writing", "to node 1", "as the guide prints it"}, {}};
  add_pass(report, *theirs_first, "first pass", 3);
  add_pass(report, *theirs, "second pass", 3);
  for (auto& row : report.rows)
    if (row[1].value) row[2] = Entry(fmt::format("{:.0f} MiB/s", *row[1].value / (1 << 20)));
  views.table("places.report", std::move(report), {{"machine", kReport}});
  if (second->rows.size() < 2) return;  // with one node there is no other place
  Bars bars{.unit = "share", .bars = {}, .reference = 1.0, .clustered = true};
  add_shares(bars, *second, second->columns.size() > 1 ? 1 : 0, kHere);
  add_shares(bars, *theirs, 0, kReport);
  views.chart("places", std::move(bars));
}

}  // namespace

void ha8000::add_views(Record& record, const core::Topology& topology, const Measured* measured) {
  Record made;  // its views come before the survey's
  made.name = record.name;
  const Points none;
  const StudyViews views{made, none, published("ha8000")};
  if (measured != nullptr) {
    show_clocks(views, record, measured->cycles);
    show_cpus(views, record, topology, measured->cpus);
  }
  place_memory(views, record);
  show_vectors(views, record, measured == nullptr ? nullptr : &measured->sweep);
  record.views.insert(record.views.begin(), std::make_move_iterator(made.views.begin()),
                      std::make_move_iterator(made.views.end()));
}

Record run_ha8000(const core::Topology& topology, bool quick, const Hooks& hooks) {
  const Record& report = published("ha8000");
  RunningStudy running(topology, kAboutHa8000, quick);
  Record& record = running.record;
  record.source = report.source + "; its machine: " + report.title;
  add_probes(record, topology,
             std::vector<std::string>{"clock.core_rate", "latency.add", "peak.fma.core",
                                      "memory.bandwidth.read.l1.core",
                                      "memory.bandwidth.set.l1.core", "ladder", "numa.bandwidth"},
             hooks);
  std::optional<Measured> measured;
  if (record.complete)
    measured = {.cycles = cycles_per_iteration(quick),
                .cpus = run_on_each_cpu(topology, quick),
                .sweep = sweep(topology.pus().back().os_index, quick)};
  add_views(record, topology, measured ? &*measured : nullptr);
  return running.finish();
}

}  // namespace tabane::lab
