// The study ha8000: four demonstrations of a guide for a node with 4 sockets × 4 cores at 2.3 GHz.
#include <fmt/format.h>
#include <sched.h>

#include "tabane/core/binding.h"
#include "tabane/core/core_rate.h"
#include "tabane/core/error.h"
#include "tabane/core/keep.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"
#include "tabane/lab/probes/plan.h"
#include "tabane/lab/studies/dependent_chain.h"
#include "tabane/lab/study.h"

namespace tabane::lab {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// Core cycles of one iteration of a chain, against a chain of one-cycle additions measured in turn.
double cycles_per_iteration(void (*chain)(std::uint64_t, double), bool quick) {
  core::MeasureOptions options;
  options.budget_seconds = quick ? 0.05 : 0.3;
  double start = 1.0;
  core::forget(start);
  const auto series =
      core::measure_interleaved({{"chain", [=](std::uint64_t n) { chain(n, start); }},
                                 {"cycles", [](std::uint64_t n) { core::run_add_chain(n * 64); }}},
                                options);
  return 64 * core::interleaved_ratio(series[0].samples, series[1].samples).value;
}

StudyTable clock_table(bool quick) {
  struct Row {
    const char* what;
    const char* report;
    void (*chain)(std::uint64_t, double);
  };
  const Row rows[] = {{"ten a = a + a, not optimised", "129", add_chain_not_optimised},
                      {"ten a = a * a, not optimised", "130", mul_chain_not_optimised},
                      {"ten a = a + a, optimised", "40", add_chain_optimised},
                      {"ten a = a * a, optimised", "40", mul_chain_optimised}};
  StudyTable table{"1. Clock-level timing: core cycles per iteration", "", {}};
  table.rows = {{"iteration", "this machine", "report (Opteron 8356)"}};
  double optimised = 0;
  for (const Row& row : rows) {
    optimised = cycles_per_iteration(row.chain, quick);
    table.rows.push_back({row.what, fmt::format("{:.1f}", optimised), row.report});
  }
  table.remark = fmt::format(
      "A dependent multiplication takes {:.1f} cycles here, 4 on the report's machine: the limit "
      "of a "
      "chain. Without optimisation every step also goes through memory.",
      optimised / 10);
  return table;
}

StudyTable cpu_table(const core::Topology& topology, bool quick) {
  StudyTable table{"2. Running on a chosen CPU", "", {}};
  table.rows = {{"CPU", "runs on", "core", "package", "node", "core rate"}};
  constexpr std::size_t kMostRows = 64;
  std::size_t wrong = 0;
  for (const core::Pu& pu : topology.pus()) {
    int runs_on = -1;
    double rate = 0;
    try {
      const core::ScopedBinding binding(pu.os_index);
      runs_on = sched_getcpu();
      if (table.rows.size() <= kMostRows) rate = core::measure_core_rate(quick ? 0.005 : 0.05);
    } catch (const core::SystemError&) {
      runs_on = -1;  // the system refused: shown as such
    }
    wrong += runs_on != static_cast<int>(pu.os_index);
    if (table.rows.size() > kMostRows) continue;
    table.rows.push_back(
        {std::to_string(pu.os_index), runs_on < 0 ? "refused" : std::to_string(runs_on),
         std::to_string(pu.core), std::to_string(pu.package), std::to_string(pu.numa_node),
         rate > 0 ? core::format_value(rate, "Hz") : "not measured"});
  }
  table.remark = wrong == 0 ? fmt::format("Each of the {} usable CPUs ran what was bound to it.",
                                          topology.pus().size())
                            : fmt::format("{} of {} CPUs did not run what was bound to them.",
                                          wrong, topology.pus().size());
  if (topology.pus().size() > kMostRows)
    table.remark += fmt::format(" The first {} are shown.", kMostRows);
  return table;
}

std::string megabytes_per_second(const std::optional<double>& bytes_per_second) {
  return bytes_per_second ? fmt::format("{:.0f}", *bytes_per_second / 1e6) : "not measured";
}

// Both passes of writing memory on a node, from every node, of a matrix table's column.
void add_pass(Rows& rows, const SurveyRecord& record, const char* name, const char* pass) {
  const Table* table = record.find_table(name);
  if (table == nullptr) return;
  const auto& matrix = std::get<MatrixTable>(table->content);
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    std::vector<std::string> row = {fmt::format("{} pass from {}", pass, matrix.rows[i])};
    for (const auto& value : matrix.values[i]) row.push_back(megabytes_per_second(value));
    rows.push_back(std::move(row));
  }
}

StudyTable memory_table(const SurveyRecord& record) {
  StudyTable table{"3. Memory in a chosen place: writing, MB/s", "", {}};
  if (const Table* second = record.find_table("numa.bandwidth.second")) {
    std::vector<std::string> head = {"this machine"};
    for (const std::string& column : std::get<MatrixTable>(second->content).columns) {
      head.push_back("to " + column);
    }
    table.rows.push_back(std::move(head));
    add_pass(table.rows, record, "numa.bandwidth.first", "first");
    add_pass(table.rows, record, "numa.bandwidth.second", "second");
  } else {
    table.rows.push_back({"this machine: not measured"});
  }
  table.remark =
      "The report, memory on node 1, from CPU 0 / 4 / 8 / 12 (nodes 0 / 1 / 2 / 3): first pass 648 "
      "/ 966 "
      "/ 583 / 663, second pass 2508 / 3258 / 2056 / 2550. The first pass includes page "
      "allocation.";
  return table;
}

std::string gflops(const RowsTable::Cell& cell) {
  const double* rate = std::get_if<double>(&cell);
  return rate == nullptr ? "not measured" : fmt::format("{:.2f}", *rate / 1e9);
}

// The report's row for a kernel: plain loop, one accumulator, unrolled, share of peak.
std::string report_ladder(const std::string& kernel) {
  if (kernel == "sum") return "0.575 / 1.15 / 4.05, 88 %";
  if (kernel == "sum_of_squares") return "1.15 / 2.3 / 5.75, 63 %";
  if (kernel == "dot") return "1.15 / – / 4.6, 50 %";
  if (kernel == "axpy") return "2.97 / 5.29 / –, 58 %";
  return "–";
}

StudyTable simd_table(const SurveyRecord& record) {
  StudyTable table{"4. SIMD with the data in L1: GFLOP/s", "", {}};
  const Table* ladder = record.find_table("ladder");
  if (ladder == nullptr) {
    table.rows.push_back({"this machine: not measured"});
    return table;
  }
  const auto& rows = std::get<RowsTable>(ladder->content);
  std::vector<std::string> head;
  for (const auto& column : rows.columns) head.push_back(column.name);
  head.push_back("shipped / limit");
  head.push_back("report: plain / one / unrolled, share of peak");
  table.rows.push_back(std::move(head));
  for (const auto& row : rows.rows) {
    const std::string kernel = std::get<std::string>(row.front());
    std::vector<std::string> cells = {kernel};
    for (std::size_t i = 1; i < row.size(); ++i) cells.push_back(gflops(row[i]));
    const double* shipped = std::get_if<double>(&row[row.size() - 2]);
    const double* limit = std::get_if<double>(&row.back());
    cells.push_back(shipped && limit ? fmt::format("{:.0f} %", 100 * *shipped / *limit) : "–");
    cells.push_back(report_ladder(kernel));
    table.rows.push_back(std::move(cells));
  }
  table.remark =
      "Several independent accumulators hide the latency of an operation. The report's peak is 4.6 "
      "GFLOP/s for sums and 9.2 for the rest; the limit here is the roofline of the level-1 cache.";
  return table;
}

}  // namespace

Json to_json(const Study& study) {
  Json json;
  json["schema_version"] = 1;
  json["kind"] = "study";
  json["name"] = study.name;
  json["title"] = study.title;
  json["source"] = study.source;
  json["tables"] = Json::array();
  for (const StudyTable& table : study.tables) {
    json["tables"].push_back(
        {{"title", table.title}, {"remark", table.remark}, {"rows", table.rows}});
  }
  json["survey"] = to_json(study.record);
  return json;
}

Study run_ha8000(const core::Topology& topology, bool quick, const SurveyHooks& hooks) {
  Study study{
      .name = "ha8000",
      .title = "Clock, placement, memory and SIMD",
      .source = "Writing fast programs for the HA8000 cluster system (user guide, about 2008)",
      .tables = {},
      .record = {}};
  study.record =
      run_survey(topology,
                 {.only = {"clock.core_rate", "peak.fma.core", "memory.bandwidth.read.l1.core",
                           "memory.bandwidth.set.l1.core", "ladder", "numa.bandwidth"},
                  .quick = quick,
                  .command_line = quick ? "tabane study ha8000 --quick" : "tabane study ha8000"},
                 hooks);
  if (study.record.complete) {
    study.tables.push_back(clock_table(quick));
    study.tables.push_back(cpu_table(topology, quick));
  }
  study.tables.push_back(memory_table(study.record));
  study.tables.push_back(simd_table(study.record));
  return study;
}

}  // namespace tabane::lab
