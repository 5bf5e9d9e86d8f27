// The figures of the report, one function each, and what they share: palette, axes, data, tables.
//
// Every function gives null if the record does not have what the figure shows. Labels that reach a
// script go through plot_label(), so that no name in a record can become a gnuplot command.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/lab/report.h"
#include "tabane/lab/text.h"

namespace tabane::lab {

// The file stems of all figures, in the order of the page.
inline constexpr std::array<std::string_view, 13> kFigureIds = {"share_of_limit",
                                                                "roofline",
                                                                "memory_latency",
                                                                "memory_bandwidth",
                                                                "bandwidth_cores",
                                                                "memcpy",
                                                                "core_to_core",
                                                                "numa_latency",
                                                                "numa_bandwidth_first",
                                                                "numa_bandwidth_second",
                                                                "ladder",
                                                                "core_rate",
                                                                "fork_cost"};

std::optional<Figure> share_of_limit_figure(const SurveyRecord& record);
std::optional<Figure> roofline_figure(const SurveyRecord& record);
std::optional<Figure> memory_latency_figure(const SurveyRecord& record);
std::optional<Figure> memory_bandwidth_figure(const SurveyRecord& record);
std::optional<Figure> memcpy_figure(const SurveyRecord& record);
std::optional<Figure> bandwidth_cores_figure(const SurveyRecord& record);
std::optional<Figure> core_rate_figure(const SurveyRecord& record);
std::optional<Figure> core_to_core_figure(const SurveyRecord& record);
std::vector<Figure> numa_figures(const SurveyRecord& record);
std::optional<Figure> ladder_figure(const SurveyRecord& record);
std::optional<Figure> fork_cost_figure(const SurveyRecord& record);

// ---- palette ----

struct FigureColour {
  std::string hex;       // as gnuplot draws it, on white
  std::string variable;  // as the page names it, so that dark mode can have its own
};

// Ink for axes, grid and marks, then the series colours. source: Okabe and Ito, Color Universal
// Design.
std::span<const FigureColour> figure_colours();
inline constexpr std::string_view kAxisColour = "#6b7280";
inline constexpr std::string_view kGridColour = "#e5e7eb";
inline constexpr std::string_view kMarkColour = "#9ca3af";
// Colour of the i-th series; goes round after six.
std::string_view series_colour(std::size_t i);

// ---- scripts ----

// The first lines of every script: terminal, output, style. size: in SVG units.
std::string script_head(std::string_view id, int width = 640, int height = 400);
// Appends "set xtics" with binary sizes at powers of two, at most about 9 of them.
std::string byte_ticks(double low, double high);
// Appends "set AXIStics" for a logarithmic axis: 1, 2 and 5 of every decade, or the decades alone
// when there are many. axis: "x" or "y".
std::string decade_ticks(const char* axis, double low, double high);
// Grey vertical lines with a label at the top: positions in units of x.
std::string vertical_marks(const std::vector<std::pair<double, std::string>>& marks);
// One colour for another where a value is drawn: viridis. source: van der Walt and Smith, 2015.
std::string_view heat_palette();

// ---- the record ----

struct CacheSize {
  int level = 0;
  double bytes = 0;
};
// The machine's caches with a known size, from level 1 up; empty if the record has none.
std::vector<CacheSize> cache_sizes(const SurveyRecord& record);
// The table of that name if its content is a T.
template <class T>
const T* find_content(const SurveyRecord& record, std::string_view name) {
  const Table* table = record.find_table(name);
  return table == nullptr ? nullptr : std::get_if<T>(&table->content);
}
// The series of that name; null if absent or without points.
const Curve* find_curve(const CurvesTable& table, std::string_view name);
// Largest finite y of all series; 0 if there is none.
double largest_y(const CurvesTable& table);
// A parameter of a table; empty if it is no text.
std::string text_parameter(const Table& table, const char* key);

// What a logarithmic axis must show: the positive, finite ones of some values.
struct PositiveRange {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void add(double v) {
    if (!std::isfinite(v) || !(v > 0)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  void add(std::span<const double> values) {
    for (const double v : values) add(v);
  }
};

// Data of a script: a block "x y low high" for each series that has points, for `index` counts no
// empty block. factor: of y, low and high.
std::string curves_data(const CurvesTable& table, double factor = 1);

// ---- tables ----

// Tables as HTML. Matrices above 32 columns are summarised by row.
std::string table_html(const CurvesTable& table);
std::string table_html(const MatrixTable& table);
std::string table_html(const RowsTable& table);

// "A", "A and B", "A, B and C"
std::string join(const std::vector<std::string>& parts);

}  // namespace tabane::lab
