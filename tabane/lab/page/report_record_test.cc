#include "tabane/lab/page/report_record_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/survey/survey.h"

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
  Result r;
  r.name = std::move(name);
  r.what = std::move(what);
  r.unit = std::move(unit);
  r.better = better;
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

void add_clock_and_compute(Record& r) {
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

void add_simd(Record& r) {
  struct KernelRates {
    const char* name;
    double flops, bytes;
  };
  for (const auto& [name, flops, bytes] :
       {KernelRates{"sum", 1, 8}, KernelRates{"sum_of_squares", 2, 8}, KernelRates{"dot", 2, 16},
        KernelRates{"axpy", 2, 24}, KernelRates{"copy", 0, 16}, KernelRates{"triad", 2, 24}})
    for (const auto& level : kLevels) {
      const bool rate = std::string(name) != "copy" && std::string(name) != "triad";
      const double bandwidth = level.read * (0.55 + 0.06 * static_cast<double>(name[0] % 7));
      const double value = rate ? bandwidth * flops / bytes : bandwidth;
      const double limit = rate ? level.read * flops / bytes : level.read;
      Result x =
          result(fmt::format("simd.{}.{}", name, level.name),
                 fmt::format("{} over data in {}", name, level.name), rate ? "FLOP/s" : "B/s",
                 Better::higher, value, limit, "the measured read bandwidth of the level");
      x.details = {{detail::kFlopsPerElement, flops},
                   {detail::kBytesPerElement, bytes},
                   {"level", level.name}};
      r.results.push_back(std::move(x));
    }
}

void add_memory(Record& r, std::size_t pus) {
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
  Curve c{.name = std::move(name)};
  for (double x = from; x <= to * 1.0001; x *= step) {
    c.x.push_back(std::round(x));
    c.y.push_back(y_of(x));
    c.low.push_back(c.y.back() * 0.985);
    c.high.push_back(c.y.back() * 1.02);
  }
  return c;
}

View table(std::string name, std::string what, auto content) {
  return {.name = std::move(name), .title = std::move(what), .content = std::move(content)};
}

void add_memory_tables(Record& r) {
  const Axis size{"working set", "B", true};
  Curves latency{size, {"time of one dependent load", "s", true}, {}};
  const auto time = [](double x) { return between_levels(x, &Level::latency); };
  latency.series.push_back(curve("4 KiB pages", 4 * kKi, kGi, std::sqrt(2.0), [&](double x) {
    return time(x) * (1 + 0.35 / (1 + std::pow(12 * kMi / x, 2)));
  }));
  latency.series.push_back(curve("huge pages", 4 * kKi, kGi, std::sqrt(2.0), time));
  r.views.push_back(table("memory.latency", "Latency over size", std::move(latency)));

  Curves bandwidth{size, {"bandwidth of one core", "B/s", true}, {}};
  Curves blocks{{"block", "B", true}, {"bandwidth", "B/s", true}, {}};
  double share = 1;
  for (const char* name : {"read", "copy", "set", "triad"}) {
    bandwidth.series.push_back(curve(
        name, 4 * kKi, kGi, 2, [&](double x) { return share * between_levels(x, &Level::read); }));
    share *= 0.82;
  }
  blocks.series.push_back(curve("memcpy", 64, 64 * kMi, 2, [](double x) {
    return 0.8 * between_levels(2 * x, &Level::read) * x / (x + 900);
  }));
  r.views.push_back(table("memory.bandwidth", "Bandwidth over size", std::move(bandwidth)));
  r.views.push_back(table("memcpy", "memcpy over block size", std::move(blocks)));
}

void add_core_tables(Record& r, std::size_t pus) {
  Curves cores{{"cores at work"}, {"bandwidth", "B/s"}, {}};
  Curves rate{{"active cores", "", false}, {"core rate", "Hz", false}, {}};
  Curve read{"read", {}, {}, {}, {}}, triad{"triad", {}, {}, {}, {}},
      hz{"core rate", {}, {}, {}, {}};
  for (std::size_t n = 1; n <= pus / 2; ++n) {
    const double x = static_cast<double>(n);
    for (Curve* c : {&read, &triad, &hz}) c->x.push_back(x);
    read.y.push_back(148e9 * std::tanh(x * 21 / 148));
    triad.y.push_back(121e9 * std::tanh(x * 19 / 121));
    hz.y.push_back(std::max(3.41e9 - 0.04e9 * x, 1e7));
  }
  cores.series = {read, triad};
  rate.series = {hz};
  r.views.push_back(
      table("memory.bandwidth.cores", "Memory bandwidth over cores", std::move(cores)));
  r.views.push_back(table("clock.core_rate", "Core rate over active cores", std::move(rate)));
}

void add_matrices(Record& r, std::size_t pus) {
  Matrix pairs{"ns", Better::lower, {}, {}, {}, "PU", "PU"};
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
  r.views.push_back(table("core_to_core.latency", "From core to core", std::move(pairs)));
  const std::vector<std::string> nodes = {"node 0", "node 1"};
  r.views.push_back(table("numa.latency", "Latency between NUMA nodes",
                          Matrix{"ns", Better::lower, nodes, nodes, {{96, 148}, {150, 95}}}));
  r.views.push_back(
      table("numa.bandwidth.first", "Bandwidth between NUMA nodes, first touch",
            Matrix{"B/s", Better::higher, nodes, nodes, {{3.1e9, 2.2e9}, {2.3e9, 3.0e9}}}));
  r.views.push_back(
      table("numa.bandwidth.second", "Bandwidth between NUMA nodes, memory touched before",
            Matrix{"B/s", Better::higher, nodes, nodes, {{74e9, 41e9}, {40e9, 73e9}}}));
  r.views.push_back(table("clock.skew", "Difference of the tick counters",
                          Matrix{"ticks",
                                 Better::lower,
                                 {"0", "1"},
                                 {"0", "1"},
                                 {{std::nullopt, 3.0}, {-3.0, std::nullopt}}}));
}

void add_process(Record& r) {
  r.results.push_back(
      result("page_fault.rate", "First touches of a page", "faults/s", Better::higher, 2.1e6));
  r.results.push_back(
      result("thread.create", "Starting and joining a thread", "s", Better::lower, 14.2e-6));
  r.results.push_back(result("fork.cost", "A fork of a small process", "s", Better::lower, 210e-6));
  Curves fork{{"resident memory of the parent", "B", true}, {"time of a fork", "s", true}, {}};
  fork.series.push_back(
      curve("4 KiB pages", kMi, 4 * kGi, 4, [](double x) { return 190e-6 + x / kGi * 9.6e-3; }));
  fork.series.push_back(
      curve("huge pages", kMi, 4 * kGi, 4, [](double x) { return 180e-6 + x / kGi * 42e-6; }));
  r.views.push_back(table("fork.cost", "Cost of a fork over resident memory", std::move(fork)));
  Rows ladder{{"kernel", "plain loop", "one accumulator", "unrolled", "shipped", "limit"}, {}};
  const auto kernel = [&](const char* name, std::initializer_list<std::optional<double>> rates) {
    std::vector<Entry>& row = ladder.rows.emplace_back();
    row.emplace_back(name);
    for (const auto& rate : rates) row.emplace_back(rate, "FLOP/s");
  };
  kernel("sum", {1.1e9, 4.4e9, 22.0e9, 25.1e9, 26.3e9});
  kernel("sum_of_squares", {1.7e9, 6.8e9, 44.0e9, 49.0e9, 52.6e9});
  kernel("dot", {1.7e9, 6.8e9, 23.5e9, 24.2e9, 26.3e9});
  kernel("axpy", {6.1e9, std::nullopt, 15.9e9, 16.1e9, 17.5e9});
  r.views.push_back(table("ladder", "What each step brings", std::move(ladder)));
  r.views.push_back(table("ladder.chart", "tabane's vector loops, step by step", Bars()));
}

void add_surroundings(Record& r, std::size_t pus) {
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
  r.advice = {{"huge_pages_fork", "Use huge pages for programs that hold much memory and fork",
               "a fork with 4 GiB held takes 350 µs instead of 38 ms",
               "tabane run --huge-pages -- COMMAND"},
              {"smaller_cache", "Block loops for 8 MiB of shared cache, not for 32 MiB",
               "a load from 8 MiB takes 14 ns, from 16 MiB 80 ns", ""}};
  r.sentences = {
      "Arithmetic: all cores together reach 402 GFLOP/s, 93 % of what eight cores could do.",
      "Memory: six cores already fill the memory bus at 148 GB/s; more cores do not help there.",
      "A fork of a process with 4 GiB in small pages takes 38 ms; huge pages make it 350 µs."};
  r.skipped = {{"numa.latency.node2", "The machine has two nodes."},
               {"counters.cache_misses", "Hardware counters are not open to this user."}};
}

// What only surveys of several passes have: two states, a share with an interval, a reason.
void add_passes(Record& r) {
  Result states = result("memory.bandwidth.triad.l3.machine.passes", "A figure with two states",
                         "B/s", Better::higher, 60e9);
  std::vector<double> samples, limit;
  for (int pass = 0; pass < 6; ++pass)
    for (int i = 0; i < 10; ++i) {
      samples.push_back((pass % 3 == 0 ? 122e9 : 57e9) + 1e8 * i);
      limit.push_back(samples.back() * 1.25);
    }
  states.passes = core::PassSizes(6, 10);
  set_samples(states, samples);
  set_limit(states, "a limit measured in turn", limit);
  r.results.push_back(std::move(states));
  Result missing =
      result("peak.fma.machine.busy", "A figure that was refused", "FLOP/s", Better::higher, 1);
  missing.value.reset();
  missing.interval.reset();
  missing.samples.clear();
  missing.reason = "in 5 of 5 samples a thread did not get its CPU";
  r.results.push_back(std::move(missing));
}

// As a survey leaves its views.
void describe_and_present(Record& r) {
  static constexpr std::pair<const char*, ProbeContext::Describe*> kDescribed[] = {
      {"memory.latency", describe_latency},
      {"memory.bandwidth", describe_bandwidth},
      {"memory.bandwidth.cores", describe_bandwidth_over_cores},
      {"memcpy", describe_memcpy},
      {"core_to_core.latency", describe_core_to_core},
      {"numa.latency", describe_numa},
      {"numa.bandwidth.first", describe_numa},
      {"numa.bandwidth.second", describe_numa},
      {"ladder.chart", describe_ladder_chart},
      {"clock.core_rate", describe_core_rate},
      {"fork.cost", describe_fork_cost}};
  for (View& view : r.views)
    for (const auto& [name, describe] : kDescribed)
      if (view.name == name) describe(view, r);
  present(r);
}

}  // namespace

Record full_record(std::size_t pus) {
  Record r;
  add_surroundings(r, pus);
  add_clock_and_compute(r);
  add_simd(r);
  add_passes(r);
  add_memory(r, pus);
  add_memory_tables(r);
  add_core_tables(r, pus);
  add_matrices(r, pus);
  add_process(r);
  r.checklist = fill_checklist(r);
  describe_and_present(r);
  return r;
}

Record one_cpu_record() {
  Record r;
  add_surroundings(r, 2);
  r.machine["summary"] = "1 package × 1 core × 1 PU, 1 NUMA node";
  add_clock_and_compute(r);
  add_simd(r);
  add_memory_tables(r);
  const std::vector<std::string> one = {"0"};
  r.views.push_back(table("core_to_core.latency", "One line from PU to PU",
                          Matrix{"ns", Better::lower, one, one, {{std::nullopt}}}));
  r.views.push_back(table("numa.latency", "Latency from cores to memory",
                          Matrix{"ns", Better::lower, one, one, {{95.0}}}));
  Curves cores{{"cores", "", false}, {"bandwidth", "B/s", false}, {}};
  cores.series.push_back({"read", {1}, {21e9}, {}, {}});
  r.views.push_back(table("memory.bandwidth.cores", "Bandwidth over cores", cores));
  describe_and_present(r);
  return r;
}

Record study_record() {
  Record r;
  add_surroundings(r, 4);
  r.kind = Kind::study;
  r.name = "invented";
  r.title = "Messages of an invented machine";
  r.source = "A. Author, 1993, an invented machine";
  r.command_line = "tabane study invented";
  r.sentences = {"A message takes 1.20 µs, 40 times less than the report gives.",
                 "From 8 ranks up the tree is faster."};
  Result point = result("invented.send.bytes8", "A message of 8 bytes", "s", Better::lower, 1.2e-6);
  point.factors = {{"ranks", 2}, {"bytes", 8}};
  point.beside["page_faults"] = std::vector<double>(point.samples.size(), 0);
  r.results.push_back(std::move(point));
  r.results.push_back(result("invented.tree.ranks8", "A tree", "s", Better::lower, 9e-6));
  Rows rows{{"message", "here", "there"}, {}};
  rows.rows.push_back({"8 bytes", {1.2e-6, "s", core::Interval{1.1e-6, 1.3e-6}}, {48e-6, "s"}});
  rows.rows.push_back({"1 MiB", {}, {0.4, "s"}});
  View times = table("invented.times", "Times of messages", std::move(rows));
  times.note = "The report gives 48 µs for 8 bytes.";
  r.views.push_back(std::move(times));
  Curves curves{{"bytes", "B", true}, {"time", "s", true}, {}};
  curves.series = {curve("measured", 8, kMi, 4, [](double x) { return 1e-6 + x * 1e-10; }),
                   {.name = "fit", .x = {8, kMi}, .y = {1e-6, 1.06e-4}, .role = Role::fitted},
                   {.name = "report", .x = {8, kMi}, .y = {48e-6, 0.4}, .role = Role::published}};
  r.views.push_back(table("invented.curve", "Time over length", std::move(curves)));
  r.views.push_back(
      table("invented.two", "Two numbers",
            Matrix{"s", Better::lower, {"0", "1"}, {"0", "1"}, {{1.0, 2.0}, {2.0, 1.0}}}));
  return r;
}

Record bench_record() {
  Record r;
  add_surroundings(r, 4);
  r.kind = Kind::bench;
  r.name = "invented";
  r.title = "Copying, beside invented peers";
  r.sentences = {};
  r.warnings = {};
  r.command_line = "make bench";
  const auto compared = [&](const char* question, const char* peer, double ratio, double target) {
    Comparison c;
    c.question = question;
    c.unit = "B/s";
    c.peer_name = peer;
    c.peer_how = fmt::format("{} 1.2 --threads 4", peer);
    c.ours = ratio * 10e9;
    c.peer = 10e9;
    c.ratio = core::Ratio{ratio, {ratio - 0.04, ratio + 0.04}, 21};
    c.target = target;
    r.comparisons.push_back(std::move(c));
  };
  compared("A long text", "copier", 1.32, 1);
  compared("Many short texts", "copier", 0.98, 1);
  compared("A short text", "mover", 0.71, 0.9);
  r.comparisons.push_back({.question = "A text on tape", .unit = "B/s", .peer_name = "tar"});
  r.comparisons.back().skipped = "there is no tape";
  r.comparisons.push_back(
      {.question = "Does it stay small?", .unit = "B", .figure = "memory held"});
  r.comparisons.back().value = 3 * kMi;
  r.comparisons.back().limit = 4 * kMi;
  Bars bars{.unit = "ratio", .reference = 1};
  for (const Comparison& c : r.comparisons)
    if (c.ratio)
      bars.bars.push_back(
          {c.peer_name, c.question, c.ratio->value, c.ratio->interval, c.peer_how, c.target});
  View view = table("invented.ratios", "How many times as fast as the peers", std::move(bars));
  view.note = "Bars beyond the line are faster than the peer.";
  r.views.push_back(std::move(view));
  return r;
}

Record record_without_tables() {
  Record r;
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

Record hostile_record() {
  const std::string evil = "</script><script>document.title='owned'</script>&\"'`\xFF\xC3\n";
  const std::string plot = "';\nset output 'owned'\nsystem(\"touch owned\")`touch owned`";
  Record r = full_record(4);
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
  r.results.back().details = {{detail::kFlopsPerElement, 1}, {detail::kBytesPerElement, 8}};
  r.results.push_back(result(evil, evil, plot, Better::higher, 1, 2, evil));
  for (auto& t : r.views) {
    t.title = evil;
    if (auto* curves = std::get_if<Curves>(&t.content)) {
      for (auto& c : curves->series) c.name = plot;
      curves->y.unit = plot;
      curves->y.name = plot;
    } else if (auto* matrix = std::get_if<Matrix>(&t.content)) {
      matrix->unit = plot;
      for (auto& name : matrix->rows) name += plot;
    } else if (auto* rows = std::get_if<Rows>(&t.content)) {
      rows->rows[0][0] = plot;
      for (auto& entry : rows->rows[1]) entry.unit = plot;
    }
  }
  describe_and_present(r);
  const std::string path = "../../owned" + plot;
  for (const std::string& name : {evil, path, path}) {
    View view = table(name, evil, Curves{{plot, plot, false}, {plot, plot, false}, {}});
    auto& series = std::get<Curves>(view.content).series;
    series.push_back({.name = plot, .x = {1, 2}, .y = {1, 2}});
    series.push_back({.name = plot, .x = {}, .y = {}});
    view.note = evil;
    r.views.push_back(std::move(view));
  }
  r.views.push_back(table(evil, evil, Matrix{evil, Better::lower, {evil}, {evil}, {{1.0}}}));
  return r;
}

}  // namespace tabane::lab::testing
