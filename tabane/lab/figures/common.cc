#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

const std::array<FigureColour, 9> kColours = {{{"#6b7280", "fig-axis"},
                                               {"#e5e7eb", "fig-grid"},
                                               {"#9ca3af", "fig-mark"},
                                               {"#0072b2", "c1"},
                                               {"#d55e00", "c2"},
                                               {"#009e73", "c3"},
                                               {"#b8569a", "c4"},
                                               {"#a67c00", "c5"},
                                               {"#56b4e9", "c6"}}};
constexpr std::size_t kFirstSeries = 3;
constexpr std::size_t kWidestTable = 32;

std::string cell(const std::optional<double>& value, const Shown& shown) {
  if (!value || !std::isfinite(*value)) return "<td class=none>–</td>";
  return fmt::format("<td class=n>{}</td>", shown.number(*value));
}

std::string head_cell(std::string_view text, std::string_view unit) {
  if (unit.empty()) return fmt::format("<th>{}</th>", escape_html(text));
  return fmt::format("<th>{} <small>{}</small></th>", escape_html(text), escape_html(unit));
}

std::string summarised(const MatrixTable& table, const Shown& shown) {
  std::string out = "<table><thead><tr><th>row</th>" + head_cell("lowest", shown.unit) +
                    head_cell("median", shown.unit) + head_cell("highest", shown.unit) +
                    "</tr></thead><tbody>";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<double> row;
    for (const auto& x : table.values[i])
      if (x) row.push_back(*x);
    out += fmt::format("<tr><th>{}</th>", escape_html(table.rows[i]));
    for (double q : {0.0, 0.5, 1.0})
      out += cell(row.empty() ? std::nullopt : std::optional(core::quantile(row, q)), shown);
    out += "</tr>";
  }
  return out + "</tbody></table>";
}

}  // namespace

std::span<const FigureColour> figure_colours() { return kColours; }

std::string_view series_colour(std::size_t i) {
  return kColours[kFirstSeries + i % (kColours.size() - kFirstSeries)].hex;
}

std::string script_head(std::string_view id, int width, int height) {
  return fmt::format(
      "set terminal svg size {1},{2} noenhanced font 'sans-serif,14' background '#ffffff' "
      "standalone\n"
      "set encoding utf8\n"
      "set output '{0}.svg'\n"
      "data = '{0}.dat'\n"
      "set border 3 lc rgb '{3}'\n"
      "set tics nomirror scale 0.5 textcolor rgb '{3}'\n"
      "set mxtics 1\nset mytics 1\n"
      "set grid x y lt 1 lw 1 lc rgb '{4}'\n"
      "set key above left Left reverse samplen 2 width 1\n"
      "set xlabel textcolor rgb '{3}'\nset ylabel textcolor rgb '{3}'\n",
      id, width, height, kAxisColour, kGridColour);
}

std::string byte_ticks(double low, double high) {
  const int first = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(high) + 1e-9));
  int step = 1;
  while ((last - first) / step > 8) ++step;
  std::string ticks;
  for (int k = first + (step - first % step) % step; k <= last; k += step) {
    const double bytes = std::exp2(k);
    ticks += fmt::format("{}'{}' {:.0f}", ticks.empty() ? "" : ", ", show(bytes, "B"), bytes);
  }
  return fmt::format("set logscale x 2\nset xrange [{:.6g}:{:.6g}]\nset xtics ({})\n", low, high,
                     ticks);
}

std::string decade_ticks(const char* axis, double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  std::string ticks;
  for (int decade = first; decade <= last; ++decade)
    for (int digit : {1, 2, 5}) {
      const double x = digit * std::pow(10.0, decade);
      if (x < low || x > high || (digit != 1 && last - first > 4)) continue;
      ticks += fmt::format("{}'{:g}' {:g}", ticks.empty() ? "" : ", ", x, x);
    }
  return fmt::format("set logscale {0} 10\nset {0}range [{1:.6g}:{2:.6g}]\nset {0}tics ({3})\n",
                     axis, low, high, ticks);
}

std::string vertical_marks(const std::vector<std::pair<double, std::string>>& marks) {
  std::string out;
  for (const auto& [x, label] : marks)
    out += fmt::format(
        "set arrow from first {0:.6g}, graph 0 to first {0:.6g}, graph 1 nohead dt 2 lw 1.2 lc rgb "
        "'{1}'\n"
        "set label '{2}' at first {0:.6g}, graph 0.965 right offset character -0.4,0 textcolor rgb "
        "'{3}'\n",
        x, kMarkColour, plot_label(label), kAxisColour);
  return out;
}

std::string_view heat_palette() {
  return "set palette maxcolors 64 defined (0 '#440154', 1 '#482878', 2 '#3e4989', 3 '#31688e', "
         "4 '#26828e', 5 '#1f9e89', 6 '#35b779', 7 '#6ece58', 8 '#b5de2b', 9 '#fde725')\n";
}

std::vector<CacheSize> cache_sizes(const SurveyRecord& record) {
  std::vector<CacheSize> out;
  const auto caches = record.machine.find("caches");
  if (caches == record.machine.end() || !caches->is_array()) return out;
  for (const auto& cache : *caches) {
    if (!cache.is_object() || !cache.contains("level") || !cache.contains("bytes")) continue;
    const auto &level = cache["level"], &bytes = cache["bytes"];
    if (level.is_number_integer() && bytes.is_number() && bytes.get<double>() > 0)
      out.push_back({level.get<int>(), bytes.get<double>()});
  }
  return out;
}

const Curve* find_curve(const CurvesTable& table, std::string_view name) {
  for (const auto& curve : table.series)
    if (curve.name == name && !curve.x.empty()) return &curve;
  return nullptr;
}

double largest_y(const CurvesTable& table) {
  double largest = 0;
  for (const auto& curve : table.series)
    for (double y : curve.y)
      if (std::isfinite(y)) largest = std::max(largest, y);
  return largest;
}

std::string text_parameter(const Table& table, const char* key) {
  const auto at = table.parameters.find(key);
  return at != table.parameters.end() && at->is_string() ? at->get<std::string>() : "";
}

std::string curves_data(const CurvesTable& table, double factor) {
  std::string out;
  for (const Curve& curve : table.series) {
    if (curve.x.empty()) continue;
    out += fmt::format("# {}: x, y, low, high\n", plot_label(curve.name));
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      const double low = curve.low.empty() ? curve.y[i] : curve.low[i];
      const double high = curve.high.empty() ? curve.y[i] : curve.high[i];
      out += fmt::format("{:.10g} {:.6g} {:.6g} {:.6g}\n", curve.x[i], curve.y[i] * factor,
                         low * factor, high * factor);
    }
    out += "\n\n";
  }
  return out;
}

std::string table_html(const CurvesTable& table) {
  const Shown shown = shown_in(largest_y(table), table.y.unit);
  std::set<double> all_x;
  std::string out = "<table><thead><tr>" + head_cell(table.x.name, "");
  for (const auto& curve : table.series) {
    all_x.insert(curve.x.begin(), curve.x.end());
    out += head_cell(curve.name, shown.unit);
  }
  out += "</tr></thead><tbody>";
  const bool sizes = table.x.unit == "B" || table.x.unit == "bytes";
  for (double x : all_x) {
    out += fmt::format("<tr><th>{}</th>", sizes ? show(x, "B") : fmt::format("{:.6g}", x));
    for (const auto& curve : table.series) {
      const auto at = std::find(curve.x.begin(), curve.x.end(), x) - curve.x.begin();
      const auto i = static_cast<std::size_t>(at);
      out += cell(i < curve.y.size() ? std::optional(curve.y[i]) : std::nullopt, shown);
    }
    out += "</tr>";
  }
  return out + "</tbody></table>";
}

std::string table_html(const MatrixTable& table) {
  double largest = 0;
  for (const auto& row : table.values)
    for (const auto& x : row) largest = std::max(largest, x.value_or(0));
  const Shown shown = shown_in(largest, table.unit);
  if (table.columns.size() > kWidestTable) return summarised(table, shown);
  std::string out = "<table><thead><tr>" + head_cell("", shown.unit);
  for (const auto& column : table.columns) out += head_cell(column, "");
  out += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    out += fmt::format("<tr><th>{}</th>", escape_html(table.rows[i]));
    for (const auto& x : table.values[i]) out += cell(x, shown);
    out += "</tr>";
  }
  return out + "</tbody></table>";
}

std::string table_html(const RowsTable& table) {
  std::string out = "<table><thead><tr>";
  for (const auto& column : table.columns) out += head_cell(column.name, "");
  out += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (const auto* text = std::get_if<std::string>(&row[i])) {
        out += fmt::format("<td>{}</td>", escape_html(*text));
      } else if (const auto* x = std::get_if<double>(&row[i])) {
        out += fmt::format("<td class=n>{}</td>", escape_html(show(*x, table.columns[i].unit)));
      } else {
        out += "<td class=none>–</td>";
      }
    }
    out += "</tr>";
  }
  return out + "</tbody></table>";
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out;
}

}  // namespace tabane::lab
