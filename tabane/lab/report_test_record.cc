#include "tabane/lab/report_test_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace tabane::lab::testing {
namespace {

constexpr double kKi = 1024, kMi = 1024 * kKi, kGi = 1024 * kMi;

// Samples around `middle`, a few of them slow; the same in every run.
std::vector<double> samples_around(double middle, std::size_t n = 41) {
  std::mt19937 random(static_cast<unsigned>(n) + static_cast<unsigned>(std::fmod(middle, 1e6)));
  std::vector<double> samples;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = static_cast<double>(random() % 1000) / 1000.0;
    samples.push_back(middle * (1 + 0.01 * (u - 0.5) + (i % 17 == 16 ? 0.06 : 0)));
  }
  return samples;
}

Result result(std::string name, std::string what, std::string unit, Better better, double value,
              double limit = 0, std::string how = "") {
  Result r{.name = std::move(name),
           .what = std::move(what),
           .unit = std::move(unit),
           .better = better,
           .value = {},
           .interval = {},
           .samples = {},
           .limit = {},
           .parameters = Json::object(),
           .version = 1};
  set_samples(r, samples_around(value));
  if (limit > 0) r.limit = Limit{limit, std::move(how)};
  return r;
}

struct Level {
  const char* name;
  double bytes, read, latency;  // B/s of a core, seconds
};
const Level kLevels[] = {{"l1", 32 * kKi, 210e9, 1.2e-9},
                         {"l2", 512 * kKi, 102e9, 3.7e-9},
                         {"l3", 32 * kMi, 48e9, 13.9e-9},
                         {"dram", kGi, 21e9, 96e-9}};

void add_clock_and_compute(SurveyRecord& r) {
  const auto add = [&](Result x) { r.results.push_back(std::move(x)); };
  add(result("clock.tick_rate", "Rate of the tick counter", "Hz", Better::neither, 2.445e9));
  add(result("clock.read_overhead", "Cost of reading the tick counter twice", "s", Better::lower,
             22.1e-9));
  add(result("clock.core_rate", "Rate of a core, from a chain of dependent additions", "Hz",
             Better::higher, 3.41e9, 3.5e9, "the highest rate that the processor names"));
  for (const char* op : {"add", "mul", "fma"})
    add(result(fmt::format("latency.{}", op), "Cycles until a result can be used", "cycles",
               Better::lower, op[0] == 'f' ? 4.02 : 3.01));
  add(result("peak.fma.core", "Fused multiply-adds of one core", "FLOP/s", Better::higher, 53.9e9,
             54.6e9, "16 FLOP a cycle at the measured core rate"));
  add(result("peak.fma.machine", "Fused multiply-adds of all cores", "FLOP/s", Better::higher,
             402e9, 431e9, "8 cores at the rate of one"));
}

void add_simd(SurveyRecord& r) {
  struct Kernel {
    const char* name;
    double flops, bytes;
  };
  for (const auto& [name, flops, bytes] :
       {Kernel{"sum", 1, 8}, Kernel{"sum_of_squares", 2, 8}, Kernel{"dot", 2, 16},
        Kernel{"axpy", 2, 24}, Kernel{"copy", 0, 16}, Kernel{"triad", 2, 24}})
    for (const auto& level : kLevels) {
      const bool rate = std::string(name) != "copy" && std::string(name) != "triad";
      const double bandwidth = level.read * (0.55 + 0.06 * static_cast<double>(name[0] % 7));
      const double value = rate ? bandwidth * flops / bytes : bandwidth;
      const double limit = rate ? level.read * flops / bytes : level.read;
      Result x =
          result(fmt::format("simd.{}.{}", name, level.name),
                 fmt::format("{} over data in {}", name, level.name), rate ? "FLOP/s" : "B/s",
                 Better::higher, value, limit, "the measured read bandwidth of the level");
      x.parameters = {
          {"flops_per_element", flops}, {"bytes_per_element", bytes}, {"level", level.name}};
      r.results.push_back(std::move(x));
    }
}

void add_memory(SurveyRecord& r, std::size_t pus) {
  for (const char* op : {"read", "copy", "set", "triad"})
    for (const auto& level : kLevels) {
      const double share = op[0] == 'r' ? 1 : 0.7;
      r.results.push_back(result(fmt::format("memory.bandwidth.{}.{}.core", op, level.name),
                                 "Bandwidth of one core", "B/s", Better::higher,
                                 share * level.read));
      Result machine = result(fmt::format("memory.bandwidth.{}.{}.machine", op, level.name),
                              "Bandwidth of all cores", "B/s", Better::higher,
                              share * std::min(level.read * static_cast<double>(pus) / 2, 2e12));
      if (level.bytes == kGi) set_samples(machine, samples_around(share * 148e9));
      if (level.bytes == kGi) machine.limit = Limit{204.8e9, "eight channels of DDR4-3200"};
      r.results.push_back(std::move(machine));
    }
  for (const auto& level : kLevels)
    r.results.push_back(result(fmt::format("memory.latency.{}", level.name),
                               "Time of a load that waits for the one before", "s", Better::lower,
                               level.latency));
}

double between_levels(double bytes, double Level::*property, double fade = 1) {
  double value = 0, before = 1;
  for (const auto& level : kLevels) {
    const double inside = 1 / (1 + std::pow(bytes / level.bytes, 3 * fade));
    value += level.*property * before * inside;
    before *= 1 - inside;
  }
  return value + kLevels[3].*property * before;
}

Curve curve(std::string name, double from, double to, double step, auto y_of) {
  Curve c{std::move(name), {}, {}, {}, {}};
  for (double x = from; x <= to * 1.0001; x *= step) {
    c.x.push_back(std::round(x));
    c.y.push_back(y_of(x));
    c.low.push_back(c.y.back() * 0.985);
    c.high.push_back(c.y.back() * 1.02);
  }
  return c;
}

Table table(std::string name, std::string what, auto content) {
  return {std::move(name), std::move(what), 1, Json::object(), std::move(content)};
}

void add_memory_tables(SurveyRecord& r) {
  const Axis size{"working set", "B", true};
  CurvesTable latency{size, {"time of a load", "s", true}, {}};
  const auto time = [](double x) { return between_levels(x, &Level::latency); };
  latency.series.push_back(curve("4 KiB pages", 4 * kKi, kGi, std::sqrt(2.0), [&](double x) {
    return time(x) * (1 + 0.35 / (1 + std::pow(12 * kMi / x, 2)));
  }));
  latency.series.push_back(curve("huge pages", 4 * kKi, kGi, std::sqrt(2.0), time));
  r.tables.push_back(table("memory.latency", "Latency over size", std::move(latency)));

  CurvesTable bandwidth{size, {"bandwidth", "B/s", true}, {}}, blocks = bandwidth;
  double share = 1;
  for (const char* name : {"read", "copy", "set", "triad"}) {
    bandwidth.series.push_back(curve(
        name, 4 * kKi, kGi, 2, [&](double x) { return share * between_levels(x, &Level::read); }));
    share *= 0.82;
  }
  blocks.series.push_back(curve("memcpy", 64, 64 * kMi, 2, [](double x) {
    return 0.8 * between_levels(2 * x, &Level::read) * x / (x + 900);
  }));
  r.tables.push_back(table("memory.bandwidth", "Bandwidth over size", std::move(bandwidth)));
  r.tables.push_back(table("memcpy", "memcpy over block size", std::move(blocks)));
}

void add_core_tables(SurveyRecord& r, std::size_t pus) {
  CurvesTable cores{{"cores", "", false}, {"bandwidth", "B/s", false}, {}};
  CurvesTable rate{{"active cores", "", false}, {"core rate", "Hz", false}, {}};
  Curve read{"read", {}, {}, {}, {}}, triad{"triad", {}, {}, {}, {}},
      hz{"core rate", {}, {}, {}, {}};
  for (std::size_t n = 1; n <= pus / 2; ++n) {
    const double x = static_cast<double>(n);
    for (Curve* c : {&read, &triad, &hz}) c->x.push_back(x);
    read.y.push_back(148e9 * std::tanh(x * 21 / 148));
    triad.y.push_back(121e9 * std::tanh(x * 19 / 121));
    hz.y.push_back(3.41e9 - 0.04e9 * x);
  }
  cores.series = {read, triad};
  rate.series = {hz};
  r.tables.push_back(table("memory.bandwidth.cores", "Bandwidth over cores", std::move(cores)));
  r.tables.push_back(table("clock.core_rate", "Core rate over active cores", std::move(rate)));
}

void add_matrices(SurveyRecord& r, std::size_t pus) {
  MatrixTable pairs{"ns", Better::lower, {}, {}, {}};
  for (std::size_t i = 0; i < pus; ++i) pairs.rows.push_back(std::to_string(i));
  pairs.columns = pairs.rows;
  std::mt19937 random(7);
  for (std::size_t i = 0; i < pus; ++i) {
    std::vector<std::optional<double>> row;
    for (std::size_t j = 0; j < pus; ++j) {
      const double base = i / 2 == j / 2 ? 9 : i / 8 == j / 8 ? 24 : 92;
      const double noise = static_cast<double>(random() % 100) / 25;
      row.push_back(i == j ? std::nullopt : std::optional(base + noise));
    }
    pairs.values.push_back(std::move(row));
  }
  r.tables.push_back(table("core_to_core.latency", "One line from PU to PU", std::move(pairs)));
  const std::vector<std::string> nodes = {"node 0", "node 1"};
  r.tables.push_back(table("numa.latency", "Latency from cores to memory",
                           MatrixTable{"ns", Better::lower, nodes, nodes, {{96, 148}, {150, 95}}}));
  r.tables.push_back(
      table("numa.bandwidth.first", "Bandwidth at the first touch",
            MatrixTable{"B/s", Better::higher, nodes, nodes, {{3.1e9, 2.2e9}, {2.3e9, 3.0e9}}}));
  r.tables.push_back(
      table("numa.bandwidth.second", "Bandwidth at the second touch",
            MatrixTable{"B/s", Better::higher, nodes, nodes, {{74e9, 41e9}, {40e9, 73e9}}}));
  r.tables.push_back(table("clock.skew", "Difference of the tick counters",
                           MatrixTable{"ticks",
                                       Better::lower,
                                       {"0", "1"},
                                       {"0", "1"},
                                       {{std::nullopt, 3.0}, {-3.0, std::nullopt}}}));
}

void add_process(SurveyRecord& r) {
  r.results.push_back(
      result("page_fault.rate", "First touches of a page", "faults/s", Better::higher, 2.1e6));
  r.results.push_back(
      result("thread.create", "Starting and joining a thread", "s", Better::lower, 14.2e-6));
  r.results.push_back(result("fork.cost", "A fork of a small process", "s", Better::lower, 210e-6));
  CurvesTable fork{{"resident", "B", true}, {"time", "s", true}, {}};
  fork.series.push_back(
      curve("4 KiB pages", kMi, 4 * kGi, 4, [](double x) { return 190e-6 + x / kGi * 9.6e-3; }));
  fork.series.push_back(
      curve("huge pages", kMi, 4 * kGi, 4, [](double x) { return 180e-6 + x / kGi * 42e-6; }));
  r.tables.push_back(table("fork.cost", "Cost of a fork", std::move(fork)));
  RowsTable ladder;
  ladder.columns = {{"kernel", ""},         {"plain loop", "FLOP/s"}, {"one accumulator", "FLOP/s"},
                    {"unrolled", "FLOP/s"}, {"shipped", "FLOP/s"},    {"limit", "FLOP/s"}};
  ladder.rows = {{std::string("sum"), 1.1e9, 4.4e9, 22.0e9, 25.1e9, 26.3e9},
                 {std::string("sum_of_squares"), 1.7e9, 6.8e9, 44.0e9, 49.0e9, 52.6e9},
                 {std::string("dot"), 1.7e9, 6.8e9, 23.5e9, 24.2e9, 26.3e9},
                 {std::string("axpy"), 6.1e9, std::monostate(), 15.9e9, 16.1e9, 17.5e9}};
  r.tables.push_back(table("ladder", "What each step brings", std::move(ladder)));
}

void add_surroundings(SurveyRecord& r, std::size_t pus) {
  r.tabane_version = "0.1.0";
  r.started = "2031-05-04T12:30:00Z";
  r.command_line = "tabane survey -o example";
  r.duration_s = 96.4;
  r.complete = true;
  r.machine = {{"name", "example"},
               {"cpu_model", "Invented Processor 8-Core"},
               {"summary", fmt::format("2 packages × {} cores × 2 PUs, 2 NUMA nodes", pus / 4)},
               {"pus", pus},
               {"cores", pus / 2},
               {"memory_bytes", 64 * kGi}};
  r.machine["caches"] = Json::array();
  for (int level = 1; level <= 3; ++level)
    r.machine["caches"].push_back({{"level", level}, {"bytes", kLevels[level - 1].bytes}});
  r.environment = {
      {"processor",
       {{"model", "Invented Processor 8-Core"}, {"governor", nullptr}, {"boost", true}}},
      {"memory", {{"transparent huge pages", "madvise"}, {"NUMA balancing", false}}},
      {"kernel",
       {{"release", "6.1.0"}, {"mitigations", "spectre_v2: retpolines, and a long text"}}},
      {"process", {{"load average", 0.21}, {"CPUs allowed", "0-15"}}}};
  r.warnings = {
      {"thp_off", "Transparent huge pages are given only on request (madvise).",
       "Random access to large data spends a third of its time on translating addresses.",
       "Ask for huge pages with madvise, or write \"always\" to the setting."},
      {"governor_unknown", "The frequency governor cannot be read.",
       "Frequencies may have moved during the survey.", "Compare the core rate before and after."}};
  r.sentences = {
      "Arithmetic: all cores together reach 402 GFLOP/s, 93 % of what eight cores could do.",
      "Memory: six cores already fill the memory bus at 148 GB/s; more cores do not help there.",
      "A fork of a process with 4 GiB in small pages takes 38 ms; huge pages make it 350 µs."};
  r.skipped = {{"numa.latency.node2", "The machine has two nodes."},
               {"counters.cache_misses", "Hardware counters are not open to this user."}};
}

}  // namespace

SurveyRecord full_record(std::size_t pus) {
  SurveyRecord r;
  add_surroundings(r, pus);
  add_clock_and_compute(r);
  add_simd(r);
  add_memory(r, pus);
  add_memory_tables(r);
  add_core_tables(r, pus);
  add_matrices(r, pus);
  add_process(r);
  return r;
}

SurveyRecord one_cpu_record() {
  SurveyRecord r;
  add_surroundings(r, 2);
  r.machine["summary"] = "1 package × 1 core × 1 PU, 1 NUMA node";
  add_clock_and_compute(r);
  add_simd(r);
  add_memory_tables(r);
  const std::vector<std::string> one = {"0"};
  r.tables.push_back(table("core_to_core.latency", "One line from PU to PU",
                           MatrixTable{"ns", Better::lower, one, one, {{std::nullopt}}}));
  r.tables.push_back(table("numa.latency", "Latency from cores to memory",
                           MatrixTable{"ns", Better::lower, one, one, {{95.0}}}));
  CurvesTable cores{{"cores", "", false}, {"bandwidth", "B/s", false}, {}};
  cores.series.push_back({"read", {1}, {21e9}, {}, {}});
  r.tables.push_back(table("memory.bandwidth.cores", "Bandwidth over cores", cores));
  return r;
}

SurveyRecord record_without_tables() {
  SurveyRecord r;
  add_surroundings(r, 4);
  r.results.push_back(
      result("clock.tick_rate", "Rate of the tick counter", "Hz", Better::neither, 2.445e9));
  Result missing{};
  missing.name = "peak.fma.core";
  missing.what = "Fused multiply-adds of one core";
  missing.unit = "FLOP/s";
  r.results.push_back(missing);
  return r;
}

SurveyRecord hostile_record() {
  const std::string evil = "</script><script>document.title='owned'</script>&\"'`\xFF\xC3\n";
  const std::string plot = "';\nset output 'owned'\nsystem(\"touch owned\")`touch owned`";
  SurveyRecord r = full_record(4);
  r.tabane_version += evil;
  r.command_line += evil;
  r.started += evil;
  r.machine["name"] = evil;
  r.machine["cpu_model"] = evil;
  r.machine["summary"] = evil;
  r.environment[evil] = {{evil, evil}};
  r.environment["flat"] = evil;
  r.warnings.push_back({evil, evil, evil, evil});
  r.sentences.push_back(evil);
  r.skipped.push_back({evil, evil});
  r.results.push_back(
      result("simd." + plot + ".l1", evil, "FLOP/s", Better::higher, 1e9, 2e9, evil));
  r.results.back().parameters = {{"flops_per_element", 1}, {"bytes_per_element", 8}};
  r.results.push_back(result(evil, evil, plot, Better::higher, 1, 2, evil));
  for (auto& t : r.tables) {
    t.what = evil;
    if (auto* curves = std::get_if<CurvesTable>(&t.content)) {
      for (auto& c : curves->series) c.name = plot;
      curves->y.unit = plot;
      curves->y.name = plot;
    } else if (auto* matrix = std::get_if<MatrixTable>(&t.content)) {
      matrix->unit = plot;
      for (auto& name : matrix->rows) name += plot;
    } else {
      auto& rows = std::get<RowsTable>(t.content);
      rows.rows[0][0] = plot;
      for (auto& column : rows.columns) column.unit = plot;
    }
  }
  r.tables.push_back(table(evil, evil, MatrixTable{evil, Better::lower, {evil}, {evil}, {{1.0}}}));
  return r;
}

}  // namespace tabane::lab::testing
