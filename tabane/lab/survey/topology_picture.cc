#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <vector>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

// In pixels; a band is what is drawn side by side.
constexpr std::size_t kMostPusOfBand = 32;
constexpr double kGap = 4, kRow = 24, kLine = 14, kLabels = 320, kLeastPu = 40, kNode = 225;
constexpr double kOfCharacter = 6.6;

constexpr const char* kStyle =
    "text{font:11px sans-serif;fill:#222}rect{stroke:#888}.node{fill:#f6e3c4}"
    ".cache{fill:#dbe9f6}.core{fill:#e4f0dc}.pu{fill:#fff}.head{font-size:13px;font-weight:bold}"
    "@media(prefers-color-scheme:dark){svg{background:#1b1d21}text{fill:#e6e6e6}.node{fill:#5a4725}"
    ".cache{fill:#2d4459}.core{fill:#35492b}.pu{fill:#2a2c31}}";

using Pus = std::vector<core::Pu>;

struct Row {
  std::string kind;                                     // its class in the style
  std::string label;                                    // in front of the boxes
  std::function<long(const core::Pu&)> box;             // which one a PU is in; negative: in none
  std::function<std::vector<std::string>(long)> lines;  // of a box, the first from long to short
  double height = kRow;
};

std::string figure_text(const Record& record, const std::string& name) {
  const Result* result = record.find(name);
  return result != nullptr && result->value ? show(*result->value, result->unit) : "";
}

std::string with_more(std::string text,
                      std::initializer_list<std::pair<std::string, std::string>> more) {
  for (const auto& [value, what] : more)
    if (!value.empty()) text += ", " + value + what;
  return text;
}

std::string measured_of(const Record& record, const std::string& text, const std::string& level) {
  const std::string read = "memory.bandwidth.read." + level;
  return with_more(text, {{figure_text(record, "memory.latency." + level), ""},
                          {figure_text(record, read + ".core"), " a core"},
                          {figure_text(record, read + ".machine"), " all"}});
}

// The cell of a view of NUMA nodes; empty if there is none.
std::string between_nodes(const Record& record, const char* name, unsigned from, unsigned to) {
  const auto* matrix = find_content<Matrix>(record, name);
  if (matrix == nullptr) return "";
  const auto at = [](const std::vector<std::string>& names, unsigned node) {
    return static_cast<std::size_t>(std::ranges::find(names, fmt::format("node {}", node)) -
                                    names.begin());
  };
  const std::size_t row = at(matrix->rows, from), column = at(matrix->columns, to);
  if (row == matrix->rows.size() || column == matrix->columns.size()) return "";
  const auto& value = matrix->values[row][column];
  return value ? show(*value, matrix->unit) : "";
}

std::string bytes_text(std::uint64_t bytes) { return bytes > 0 ? core::format_bytes(bytes) : ""; }

Row nodes_row(const core::Topology& topology, const Record& record) {
  Row row{.kind = "node",
          .label = measured_of(record, "memory", "dram"),
          .box = [](const core::Pu& pu) { return static_cast<long>(pu.numa_node); },
          .lines = {}};
  row.lines = [&](long number) {
    const auto own = static_cast<unsigned>(number);
    std::vector<std::string> lines = {with_more(
        fmt::format("NUMA node {}", own), {{bytes_text(topology.find_numa_node(own)->bytes), ""}})};
    for (const core::NumaNode& to : topology.numa_nodes()) {
      const std::string latency = between_nodes(record, "numa.latency", own, to.os_index);
      const std::string bandwidth = between_nodes(record, "numa.bandwidth", own, to.os_index);
      const std::string ways = with_more(latency, {{bandwidth, ""}});
      if (topology.numa_nodes().size() > 1 && !ways.empty())
        lines.push_back(fmt::format("to node {}: {}", to.os_index, ways));
    }
    return lines;
  };
  std::size_t most = 0;
  for (const core::NumaNode& node : topology.numa_nodes())
    most = std::max(most, row.lines(node.os_index).size());
  row.height += kLine * static_cast<double>(most - 1);
  return row;
}

Row cache_row(const core::CacheLevel& cache, const Record& record) {
  std::map<unsigned, long> instances;  // by PU
  for (std::size_t i = 0; i < cache.pus.size(); ++i)
    for (const unsigned pu : cache.pus[i]) instances[pu] = static_cast<long>(i);
  const std::string name = fmt::format("L{}", cache.level);
  const std::string whole = name + " " + core::format_bytes(cache.bytes);
  return {.kind = "cache",
          .label = measured_of(record, whole, fmt::format("l{}", cache.level)),
          .box =
              [instances](const core::Pu& pu) {
                const auto found = instances.find(pu.os_index);
                return found == instances.end() ? -1 : found->second;
              },
          .lines = [name](long) { return std::vector<std::string>{name}; }};
}

std::vector<Row> rows_of(const core::Topology& topology, const Record& record) {
  std::vector<Row> rows = {nodes_row(topology, record)};
  const auto caches = topology.caches();
  for (auto cache = caches.rbegin(); cache != caches.rend(); ++cache)
    rows.push_back(cache_row(*cache, record));
  rows.push_back({.kind = "core",
                  .label = "cores",
                  .box = [](const core::Pu& pu) { return static_cast<long>(pu.core); },
                  .lines = [](long core) { return std::vector{fmt::format("core {}", core)}; }});
  rows.push_back({.kind = "pu",
                  .label = "PUs, by the system's numbers",
                  .box = [](const core::Pu& pu) { return static_cast<long>(pu.os_index); },
                  .lines = [](long pu) { return std::vector{std::to_string(pu)}; }});
  return rows;
}

// Packages, and parts of large ones.
std::vector<Pus> bands_of(const core::Topology& topology) {
  std::vector<Pus> bands;
  for (const core::Pu& pu : topology.pus()) {
    const bool begins = bands.empty() || bands.back().back().package != pu.package ||
                        bands.back().size() == kMostPusOfBand;
    if (begins) bands.emplace_back();
    bands.back().push_back(pu);
  }
  return bands;
}

std::string text_at(double x, double y, const std::string& text, const char* kind = "") {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" class=\"{}\">{}</text>\n", x, y, kind,
                     escape_html(text));
}

// Calls take(box, first, end) for neighbours in one box.
void for_boxes(const Pus& pus, const Row& row,
               const std::function<void(long, std::size_t, std::size_t)>& take) {
  for (std::size_t first = 0, end = 0; first < pus.size(); first = end) {
    const long box = row.box(pus[first]);
    for (end = first + 1; end < pus.size() && row.box(pus[end]) == box;) ++end;
    if (box >= 0) take(box, first, end);
  }
}

std::string drawn(const Pus& pus, const Row& row, double y, double pu_width) {
  std::string svg = text_at(kGap, y + kRow - 8, row.label);
  for_boxes(pus, row, [&](long box, std::size_t first, std::size_t end) {
    const double x = kLabels + static_cast<double>(first) * pu_width;
    const double width = static_cast<double>(end - first) * pu_width - kGap;
    const std::vector<std::string> lines = row.lines(box);
    svg += fmt::format(
        "<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "rx=\"3\"/>\n",
        row.kind, x, y, width, row.height - kGap);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      // "core 12" becomes "12" where there is no room.
      const bool fits = static_cast<double>(lines[i].size()) * kOfCharacter + 2 * kGap < width;
      svg += text_at(x + kGap, y + kRow - 9 + kLine * static_cast<double>(i),
                     fits ? lines[i] : lines[i].substr(lines[i].rfind(' ') + 1));
    }
  });
  return svg;
}

// So that what is said of a NUMA node has room.
double pu_width(const std::vector<Pus>& bands, const Row& nodes) {
  double width = kLeastPu;
  for (const Pus& pus : bands) {
    for_boxes(pus, nodes, [&](long, std::size_t first, std::size_t end) {
      width = std::max(width, kNode / static_cast<double>(end - first));
    });
  }
  return width;
}

}  // namespace

std::string topology_svg(const core::Topology& topology, const Record& record) {
  const std::vector<Row> rows = rows_of(topology, record);
  const std::vector<Pus> bands = bands_of(topology);
  const double of_pu = pu_width(bands, rows.front());
  double y = 2 * kRow, width = 0;
  std::string svg = text_at(kGap, kRow - kGap, topology.summary(), "head") +
                    text_at(kGap, kRow + kLine, "latency of a load, bandwidth of reading");
  for (const Pus& pus : bands) {
    width = std::max(width, kLabels + of_pu * static_cast<double>(pus.size()));
    svg += text_at(kGap, y + kLine, fmt::format("package {}", pus.front().package), "head");
    y += kRow;
    for (const Row& row : rows) {
      svg += drawn(pus, row, y, of_pu);
      y += row.height;
    }
    y += 2 * kGap;
  }
  for (const core::NumaNode& node : topology.numa_nodes()) {
    if (!node.pus.empty()) continue;
    svg += text_at(kGap, y + kLine,
                   with_more(fmt::format("NUMA node {} without cores", node.os_index),
                             {{bytes_text(node.bytes), ""}}));
    y += kRow;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>{3}</style>\n{4}</svg>\n",
      width + kGap, y + kGap, escape_html(topology.summary()), kStyle, svg);
}

}  // namespace tabane::lab
