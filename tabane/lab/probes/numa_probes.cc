// numa.*: what it costs that a PU of one node uses the memory of another.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tabane/core/binding.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/measurement.h"
#include "tabane/core/memory.h"
#include "tabane/core/threads.h"
#include "tabane/core/topology.h"
#include "tabane/core/units.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/chase.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/record/text.h"
#include "tabane/simd/elementwise.h"

namespace tabane::lab {
namespace {

using core::kMiB;
constexpr std::uint64_t kSmallest = 4 * kMiB;
constexpr int kMostRepeats = 3;  // in one pass

using Cells = std::vector<std::vector<std::optional<double>>>;

// Nodes with PUs are rows, nodes with memory are columns.
struct Nodes {
  std::vector<core::NumaNode> rows, columns;

  Cells empty_cells() const {
    return Cells(rows.size(), std::vector<std::optional<double>>(columns.size()));
  }
  bool is_local(std::size_t row, std::size_t column) const {
    return rows[row].os_index == columns[column].os_index;
  }
};

Nodes find_nodes(const ProbeContext& context) {
  require_this_machine(context);
  Nodes nodes;
  const auto all = context.topology().numa_nodes();
  for (const core::NumaNode& node : all) {
    if (!node.pus.empty()) nodes.rows.push_back(node);
    nodes.columns.push_back(node);
  }
  if (all.size() > 1 && !core::numa_calls_available())
    throw NotHere("several NUMA nodes, but the system refuses the calls that place memory on them");
  return nodes;
}

// What may be taken of a node: a quarter of it, of the machine's free memory, and never the last of
// the node, as memory bound to a full node ends the process.
std::uint64_t node_limit(const core::NumaNode& node) {
  const core::SystemFiles files;
  const std::string meminfo =
      "/sys/devices/system/node/node" + std::to_string(node.os_index) + "/meminfo";
  const std::string prefix = "Node " + std::to_string(node.os_index) + " ";
  double bytes = core::usable_memory_bytes(files).value_or(1024.0 * kMiB) / 4;
  if (node.bytes > 0) bytes = std::min(bytes, static_cast<double>(node.bytes) / 4);
  if (const auto free = files.field_number(meminfo, prefix + "MemFree")) {
    const double cached = files.field_number(meminfo, prefix + "Inactive(file)").value_or(0);
    bytes = std::min(bytes, 0.5 * (*free + cached));
  }
  return static_cast<std::uint64_t>(bytes);
}

std::uint64_t bounded_bytes(const Nodes& nodes, std::uint64_t wanted) {
  for (const core::NumaNode& node : nodes.columns)
    if (const std::uint64_t limit = node_limit(node); limit >= kSmallest)
      wanted = std::min(wanted, limit);
  return wanted / kMiB * kMiB;
}

// Null where the node has no memory to give.
std::optional<core::Region> region_on(const Nodes& nodes, std::size_t column, std::uint64_t bytes,
                                      core::PageSize pages) {
  // On one node every page is local, so nothing need be bound that a container might refuse.
  core::MemoryOptions options{.pages = pages};
  if (nodes.columns.size() == 1) return core::Region(bytes, options);
  if (node_limit(nodes.columns[column]) < bytes) return std::nullopt;
  try {
    options.policy = core::MemoryPolicy::bind;
    options.nodes = {nodes.columns[column].os_index};
    return core::Region(bytes, options);
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

// Share of a region's pages that are on the wanted node. Null if the system does not report it.
std::optional<double> share_on(const core::Region& region, unsigned node) {
  const auto pages = region.pages_per_node();
  if (!pages) return std::nullopt;
  std::size_t all = 0;
  for (const auto& [where, count] : *pages) all += count;
  const auto there = pages->find(static_cast<int>(node));
  if (all == 0 || there == pages->end()) return 0.0;
  return static_cast<double>(there->second) / static_cast<double>(all);
}

void keep_lowest(std::optional<double>& lowest, const std::optional<double>& value) {
  if (value && (!lowest || *value < *lowest)) lowest = value;
}

// Where there is one node, nothing is between nodes.
const char* title(const Nodes& nodes, const char* between, const char* of_one) {
  return nodes.rows.size() * nodes.columns.size() > 1 ? between : of_one;
}

Matrix to_table(const Nodes& nodes, std::string unit, Better better, Cells values) {
  const auto names_of = [](const std::vector<core::NumaNode>& all) {
    std::vector<std::string> names;
    for (const core::NumaNode& node : all) names.push_back(fmt::format("node {}", node.os_index));
    return names;
  };
  return {.unit = std::move(unit),
          .better = better,
          .rows = names_of(nodes.rows),
          .columns = names_of(nodes.columns),
          .values = std::move(values)};
}

// below: the name of the probe.
View view_of(const Probe& probe, const char* below, const char* title, const Json& details,
             Matrix matrix) {
  return {.name = probe.name + below,
          .title = title,
          .version = probe.version,
          .details = details,
          .content = std::move(matrix)};
}

std::vector<double> local_cells(const Nodes& nodes, const Cells& cells) {
  std::vector<double> local;
  for (std::size_t r = 0; r < cells.size(); ++r)
    for (std::size_t c = 0; c < cells[r].size(); ++c)
      if (nodes.is_local(r, c) && cells[r][c]) local.push_back(*cells[r][c]);
  return local;
}

// Cells over the local cell of their row; null where either is missing.
Cells ratios_to_local(const Nodes& nodes, const Cells& cells) {
  Cells ratios = nodes.empty_cells();
  for (std::size_t r = 0; r < cells.size(); ++r) {
    std::optional<double> local;
    for (std::size_t c = 0; c < cells[r].size(); ++c)
      if (nodes.is_local(r, c)) local = cells[r][c];
    for (std::size_t c = 0; c < cells[r].size(); ++c)
      if (local && cells[r][c]) ratios[r][c] = *cells[r][c] / *local;
  }
  return ratios;
}

// The farthest cell as a ratio to the local one. greatest: whether far cells have greater figures.
std::optional<double> farthest(const Cells& ratios, bool greatest) {
  std::optional<double> found;
  for (const auto& row : ratios)
    for (const auto& ratio : row)
      if (ratio && (!found || (greatest ? *ratio > *found : *ratio < *found))) found = ratio;
  return found;
}

double seconds_to_write(core::Region& region) {
  return time_of([&] {
    simd::generate(region.as<double>());
    core::keep(region.data());
  });
}

// Seconds from the first start to the last end with a part of the region for each PU.
double seconds_to_write_together(core::Region& region, std::span<const unsigned> pus) {
  core::Clock& clock = core::tick_clock();
  const std::size_t part = region.size() / pus.size() / core::page_bytes() * core::page_bytes();
  std::vector<double> begins(pus.size()), ends(pus.size());
  core::PinnedPool(pus).run([&](std::size_t i) {
    std::byte* mine = region.data() + i * part;
    begins[i] = clock.now();
    simd::generate(region.as<double>().subspan(i * part / sizeof(double), part / sizeof(double)),
                   simd::Streaming::always());
    core::keep(mine);
    ends[i] = clock.now();
  });
  const double seconds = *std::ranges::max_element(ends) - *std::ranges::min_element(begins);
  return seconds * static_cast<double>(region.size()) / static_cast<double>(part * pus.size());
}

struct Bandwidths {
  Cells first, second, all_pus;
  std::vector<double> local_samples;   // second passes on the node of their PU, B/s
  std::optional<double> lowest_share;  // of pages where they were asked for
};

void measure_bandwidth_cell(const ProbeContext& context, const Nodes& nodes, std::size_t row,
                            std::size_t column, std::uint64_t bytes, double seconds,
                            Bandwidths& found) {
  const std::vector<unsigned>& pus = nodes.rows[row].pus;
  std::vector<double> first, second, together;
  core::Clock& clock = core::tick_clock();
  const double deadline = clock.now() + seconds;
  for (int repeat = 0; repeat < kMostRepeats && (repeat == 0 || clock.now() < deadline); ++repeat) {
    // A first pass needs pages that were never there, so every repeat maps them anew.
    std::optional<core::Region> region = region_on(nodes, column, bytes, core::PageSize::system);
    if (!region) break;
    const auto rate = [&](double spent) { return static_cast<double>(region->size()) / spent; };
    {
      const core::ScopedBinding binding(pus.front());
      first.push_back(rate(seconds_to_write(*region)));
      for (int pass = 0; pass < 3; ++pass) second.push_back(rate(seconds_to_write(*region)));
    }
    if (!context.quick()) together.push_back(rate(seconds_to_write_together(*region, pus)));
    if (repeat == 0)
      keep_lowest(found.lowest_share, share_on(*region, nodes.columns[column].os_index));
  }
  if (first.empty()) return;
  found.first[row][column] = core::median(first);
  found.second[row][column] = core::median(second);
  if (!together.empty()) found.all_pus[row][column] = core::median(together);
  if (nodes.is_local(row, column))
    found.local_samples.insert(found.local_samples.end(), second.begin(), second.end());
}

void for_each_cell(ProbeContext& context, const Nodes& nodes,
                   const std::function<void(std::size_t row, std::size_t column)>& visit) {
  const auto cells = static_cast<double>(nodes.rows.size() * nodes.columns.size());
  double done = 0;
  for (std::size_t column = 0; column < nodes.columns.size(); ++column) {
    for (std::size_t row = 0; row < nodes.rows.size(); ++row) {
      context.progress(done++ / cells);
      visit(row, column);
    }
  }
}

void run_node_bandwidth(const Probe& probe, ProbeContext& context) {
  const Nodes nodes = find_nodes(context);
  const auto cells = static_cast<double>(nodes.rows.size() * nodes.columns.size());
  const double seconds = context.budget_seconds() / cells;
  // One repeat writes the region about five times; a small budget gets a smaller region.
  const auto affordable = static_cast<std::uint64_t>(std::max(32.0, seconds * 512)) * kMiB;
  const std::uint64_t& bytes = context.memory().keep<std::uint64_t>(
      "numa.bytes", [&] { return bounded_bytes(nodes, std::min(256 * kMiB, affordable)); });
  if (bytes < kSmallest) throw NotHere("too little memory is free");

  Bandwidths found{nodes.empty_cells(), nodes.empty_cells(), nodes.empty_cells(), {}, {}};
  for_each_cell(context, nodes, [&](std::size_t row, std::size_t column) {
    measure_bandwidth_cell(context, nodes, row, column, bytes, seconds, found);
  });

  Json details = {{"bytes", bytes},
                  {"access", "written from the first PU of the row's node"},
                  {"lowest_share_of_pages_on_node", found.lowest_share}};
  const auto report = [&](const char* below, const char* title, Cells values,
                          ProbeContext::Describe* describe = nullptr) {
    context.report(view_of(probe, below, title, details,
                           to_table(nodes, "B/s", Better::higher, std::move(values))),
                   describe);
  };
  if (!found.local_samples.empty()) {
    Result result = probe.result(found.local_samples, details);
    result.details["first_pass"] = core::median(local_cells(nodes, found.first));
    result.details["lowest_ratio_to_local"] = farthest(ratios_to_local(nodes, found.second), false);
    context.report(std::move(result));
  }
  report(".first",
         title(nodes, "Bandwidth between NUMA nodes, first touch",
               "First write of the column's memory, page allocation included, by one PU of the "
               "row"),
         std::move(found.first), describe_numa);
  report(".second",
         title(nodes, "Bandwidth between NUMA nodes, memory touched before",
               "Further writes of the column's memory by one PU of the row"),
         std::move(found.second), describe_numa);
  if (!context.quick()) {
    details["access"] = "written from all PUs of the row's node, a part each";
    report(".all_pus", "Further writes of the column's memory by all PUs of the row",
           std::move(found.all_pus));
  }
}

// The cycles of the columns; null where the node has no memory to give.
using Chases = std::vector<std::unique_ptr<Chase>>;

std::unique_ptr<Chase> chase_on(const Nodes& nodes, std::size_t column, std::uint64_t bytes) {
  if (node_limit(nodes.columns[column]) < bytes) return nullptr;
  try {
    const core::MemoryOptions options{.policy = core::MemoryPolicy::bind,
                                      .nodes = {nodes.columns[column].os_index},
                                      .pages = core::PageSize::huge};
    return std::make_unique<Chase>(std::vector<std::uint64_t>{bytes}, options);
  } catch (const core::Error&) {
    return nullptr;
  }
}

Chases make_chases(const ProbeContext& context, const Nodes& nodes) {
  std::uint64_t last_level = 32 * kMiB;
  for (const core::CacheLevel& cache : context.topology().caches()) last_level = cache.bytes;
  const auto share = memory_allowance() / static_cast<double>(nodes.columns.size());
  const std::uint64_t bytes =
      bounded_bytes(nodes, std::min({std::max(4 * last_level, 64 * kMiB), 1024 * kMiB,
                                     static_cast<std::uint64_t>(share)}));
  // With less, the last cache would answer most of the loads.
  if (bytes < std::max(2 * last_level / kMiB * kMiB, kSmallest))
    throw NotHere("too little memory is free");
  Chases chases;
  for (std::size_t column = 0; column < nodes.columns.size(); ++column)
    chases.push_back(chase_on(nodes, column, bytes));
  return chases;
}

// The chase of a column: on one node that of memory.latency, as every page is local.
Chase* chase_of(ProbeContext& context, const Nodes& nodes, std::size_t column) {
  if (nodes.columns.size() == 1) return &memory_chase(context);
  Chases& chases =
      context.memory().keep<Chases>("numa.chases", [&] { return make_chases(context, nodes); });
  Chase* chase = chases[column].get();
  if (chase != nullptr) chase->prepare(0);
  return chase;
}

// Nanoseconds of a load by the row's first PU while its others write memory of the column; null if
// there are no others, if the column has no memory for them, or if other programs had the PUs.
std::optional<double> loaded_latency(const Nodes& nodes, std::size_t row, std::size_t column,
                                     Chase& chase) {
  constexpr std::uint64_t kLoads = 1 << 14;  // some milliseconds
  constexpr std::size_t kSamples = 3;
  const std::vector<unsigned>& pus = nodes.rows[row].pus;
  if (pus.size() < 2) return std::nullopt;
  const std::uint64_t room = node_limit(nodes.columns[column]) / pus.size();
  const std::uint64_t bytes = std::min<std::uint64_t>(32 * kMiB, room / kMiB * kMiB);
  if (bytes < kSmallest) return std::nullopt;
  std::vector<std::optional<core::Region>> written;
  for (std::size_t i = 1; i < pus.size(); ++i)
    written.push_back(region_on(nodes, column, bytes, core::PageSize::huge));
  if (!std::ranges::all_of(written, [](const auto& region) { return region.has_value(); }))
    return std::nullopt;
  core::PinnedPool pool(pus);
  std::vector<std::size_t> threads(pus.size());
  std::iota(threads.begin(), threads.end(), std::size_t{0});
  std::vector<double> samples;
  for (std::size_t sample = 0; sample < kSamples + 1; ++sample) {
    const double seconds = follow_under_load(chase, kLoads, pool, threads, 0, [&](std::size_t i) {
      simd::generate(written[i - 1]->as<double>());
    });
    // In the first one the others get their pages.
    if (sample > 0 && seconds > 0) samples.push_back(1e9 * seconds / kLoads);
  }
  return samples.empty() ? std::nullopt : std::optional(core::median(samples));
}

void run_node_latency(const Probe& probe, ProbeContext& context) {
  const Nodes nodes = find_nodes(context);
  const auto cells = static_cast<double>(nodes.rows.size() * nodes.columns.size());
  const core::MeasureOptions options =
      measure_options(context, 0.5 * context.budget_seconds() / cells);
  Cells latency = nodes.empty_cells(), loaded = nodes.empty_cells();
  std::vector<double> local_samples;
  std::optional<double> lowest_share;
  std::uint64_t bytes = 0;
  Chase* chase = nullptr;
  for_each_cell(context, nodes, [&](std::size_t row, std::size_t column) {
    {
      const core::ScopedBinding binding(nodes.rows[row].pus.front());
      if (row == 0) {  // a new column: its cycle serves all rows
        chase = chase_of(context, nodes, column);
        if (chase != nullptr)
          keep_lowest(lowest_share, share_on(chase->memory(), nodes.columns[column].os_index));
      }
      if (chase == nullptr) return;
      const std::size_t size = chase->sizes().size() - 1;
      bytes = chase->sizes()[size];
      const core::Series series = core::measure(
          "chase", [&](std::uint64_t loads) { chase->follow(size, loads); }, options);
      const std::vector<double> ns = scaled(series.samples, 1e9);
      latency[row][column] = core::median(ns);
      if (nodes.is_local(row, column))
        local_samples.insert(local_samples.end(), ns.begin(), ns.end());
    }
    if (!context.quick()) loaded[row][column] = loaded_latency(nodes, row, column, *chase);
  });

  Cells ratios = ratios_to_local(nodes, latency);
  Json details = {{"bytes", bytes}, {"lowest_share_of_pages_on_node", lowest_share}};
  if (!local_samples.empty()) {
    Result result = probe.result(std::move(local_samples), details);
    result.details["greatest_ratio_to_local"] = farthest(ratios, true);
    context.report(std::move(result));
  }
  const auto report = [&](const char* below, const char* title, const char* unit, Cells values,
                          ProbeContext::Describe* describe = nullptr) {
    context.report(view_of(probe, below, title, details,
                           to_table(nodes, unit, Better::lower, std::move(values))),
                   describe);
  };
  report("",
         title(nodes, "Latency between NUMA nodes",
               "Latency of a dependent load: PU on the row's node, memory on the column's"),
         "ns", std::move(latency), describe_numa);
  const bool any_loaded = std::ranges::any_of(loaded, [](const auto& row) {
    return std::ranges::any_of(row, [](const auto& cell) { return cell.has_value(); });
  });
  if (any_loaded)
    report(".loaded",
           title(nodes, "Latency between NUMA nodes under load",
                 "The same while the other PUs of the row write the column's memory"),
           "ns", std::move(loaded), describe_numa);
  report(".ratio", "numa.latency over the local latency of the row", "ratio", std::move(ratios));
}

// The row's own node: the column of the same name, else its best one. Null if the row is empty.
std::optional<double> home_value(const Matrix& matrix, std::size_t row) {
  std::optional<double> best;
  for (std::size_t j = 0; j < matrix.columns.size(); ++j) {
    const auto& x = matrix.values[row][j];
    if (!x || !(*x > 0)) continue;
    if (matrix.columns[j] == matrix.rows[row]) return x;
    if (!best || (matrix.better == Better::lower ? *x < *best : *x > *best)) best = x;
  }
  return best;
}

struct NodePair {
  std::size_t row = 0, column = 0;
  double value = 0, home = 0;
  double loss = 0;  // times as dear as at home
};

// Null if no pair was measured.
std::optional<NodePair> dearest_pair(const Matrix& matrix) {
  std::optional<NodePair> dearest;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    const auto home = home_value(matrix, i);
    for (std::size_t j = 0; home && j < matrix.columns.size(); ++j) {
      const auto& x = matrix.values[i][j];
      if (!x || !(*x > 0)) continue;
      const double loss = matrix.better == Better::lower ? *x / *home : *home / *x;
      if (!dearest || loss > dearest->loss) dearest = NodePair{i, j, *x, *home, loss};
    }
  }
  return dearest;
}

std::string note_of(const Matrix& matrix, const NodePair& pair) {
  const std::string text =
      "Rows are where the cores are, columns where the memory is; the number in brackets is the "
      "ratio to the row's own node. ";
  if (pair.loss < 1.005) return text + "No way is dearer than the one to the own node.";
  return text + fmt::format("The dearest way is {} reaching {}: {}, {:.2f} times the {} at home.",
                            matrix.rows[pair.row], matrix.columns[pair.column],
                            show(pair.value, matrix.unit), pair.value / pair.home,
                            show(pair.home, matrix.unit));
}

}  // namespace

void describe_numa(View& view, const Record&) {
  auto& matrix = std::get<Matrix>(view.content);
  if (matrix.rows.size() * matrix.columns.size() < 2) return;
  const auto pair = dearest_pair(matrix);
  if (!pair) return;
  matrix.row_axis = "cores of";
  matrix.column_axis = "memory on";
  matrix.own_first = true;
  view.note = note_of(matrix, *pair);
}

std::vector<Probe> numa_probes(const core::Topology& topology) {
  const auto nodes = static_cast<double>(topology.numa_nodes().size());
  return {{.name = "numa.bandwidth",
           .what = "Bandwidth of writing local memory from one PU, once its pages are there",
           .unit = "B/s",
           .better = Better::higher,
           .version = 3,
           .seconds = {std::clamp(0.5 * nodes * nodes, 2.0, 20.0),
                       std::clamp(0.15 * nodes * nodes, 0.2, 5.0)},
           .run = run_node_bandwidth},
          {.name = "numa.latency",
           .what = "Latency of a dependent load from local memory",
           .unit = "ns",
           .better = Better::lower,
           .version = 2,
           .seconds = {std::clamp(0.25 * nodes * nodes, 1.0, 10.0),
                       std::clamp(0.15 * nodes * nodes, 0.3, 5.0)},
           .run = run_node_latency}};
}

}  // namespace tabane::lab
