#include "tabane/lab/page/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tabane/core/statistics.h"

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
constexpr std::size_t kMostTicks = 16;

std::string joined_ticks(char axis, const std::vector<std::string>& ticks) {
  return fmt::format("set {}tics ({})\n", axis, fmt::join(ticks, ", "));
}

// Binary sizes at powers of two, at most about 9 of them.
std::string byte_ticks(char axis, double low, double high) {
  const int first = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(high) + 1e-9));
  int step = 1;
  while ((last - first) / step > 8) ++step;
  std::vector<std::string> ticks;
  for (int k = first + (step - first % step) % step; k <= last; k += step)
    ticks.push_back(tick(show(std::exp2(k), "B"), std::exp2(k)));
  return fmt::format("set logscale {} 2\n", axis) + joined_ticks(axis, ticks);
}

// 1, 2 and 5 of every decade, or the decades alone when there are many.
std::string decade_ticks(char axis, double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  std::vector<std::string> ticks;
  for (int decade = first; decade <= last; ++decade)
    for (int digit : {1, 2, 5}) {
      const double x = digit * std::pow(10.0, decade);
      if (x < low || x > high || (digit != 1 && last - first > 4)) continue;
      ticks.push_back(tick(fmt::format("{:g}", x), x));
    }
  return fmt::format("set logscale {} 10\n", axis) + joined_ticks(axis, ticks);
}

// "memory.latency" gives "memory_latency".
std::string file_stem(std::string_view name) {
  std::string stem;
  for (const char c : name.substr(0, 60)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    stem += plain ? c : '_';
  }
  return stem.empty() ? "figure" : stem;
}

bool counts(const std::set<double>& values) {
  return !values.empty() && values.size() <= kMostTicks &&
         std::all_of(values.begin(), values.end(),
                     [](double v) { return v == std::floor(v) && v > 0; });
}

}  // namespace

std::span<const FigureColour> figure_colours() { return kColours; }

std::string_view series_colour(std::size_t i) {
  return kColours[kFirstSeries + i % (kColours.size() - kFirstSeries)].hex;
}

std::string_view heat_palette() {
  return "set palette maxcolors 64 defined (0 '#440154', 1 '#482878', 2 '#3e4989', 3 '#31688e', "
         "4 '#26828e', 5 '#1f9e89', 6 '#35b779', 7 '#6ece58', 8 '#b5de2b', 9 '#fde725')\n";
}

std::string script_head(std::string_view id, Size size) {
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
      id, size.width, size.height, kAxisColour, kGridColour);
}

std::string tick(std::string_view label, double place) {
  std::string text = plot_label(label, 44);
  for (auto at = text.find('%'); at != std::string::npos; at = text.find('%', at + 2))
    text.insert(at, "%");  // gnuplot reads labels of ticks as formats
  return fmt::format("'{}' {:.10g}", text, place);
}

std::string label_ticks(char axis, const std::vector<std::string>& labels,
                        const std::vector<double>& places) {
  std::vector<std::string> ticks;
  for (std::size_t i = 0; i < labels.size(); ++i)
    ticks.push_back(tick(labels[i], places.empty() ? static_cast<double>(i) : places[i]));
  return fmt::format("set {}tics ({}) scale 0\n", axis, fmt::join(ticks, ", "));
}

std::string axis_ticks(char name, const Axis& axis, const Extent& range, const Shown& shown,
                       const std::set<double>& values) {
  double low = range.low * shown.factor, high = range.high * shown.factor;
  std::string out;
  if (axis.log) {
    // Room for the points at the ends; above the curves also for their names.
    const double room = name == 'y' ? 1.4 : 1.15;
    low /= room;
    high *= room;
    if (axis.unit == "B" && name == 'x') {
      out = byte_ticks(name, low, high);
    } else if (name == 'x' && counts(values)) {
      std::vector<std::string> ticks;
      for (const double v : values) ticks.push_back(tick(fmt::format("{:g}", v), v));
      out = fmt::format("set logscale {} 2\n", name) + joined_ticks(name, ticks);
    } else {
      out = decade_ticks(name, low, high);
    }
  } else if (name == 'y') {
    low = std::min(0.0, low);
    high *= 1.08;
  } else if (high <= kMostTicks && counts(values)) {
    out = "set xtics 1\n";
  }
  if (!(low < high)) high = low + 1;
  return out + fmt::format("set {}range [{:.6g}:{:.6g}]\n", name, low, high);
}

std::optional<Figure> figure_of(const View& view) {
  Figure figure;
  figure.view = view.name;
  figure.id = file_stem(view.name);
  figure.title = view.title;
  figure.caption = view.note;
  const bool drawn = std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, Rows> || std::is_same_v<T, Image>)
          return false;
        else
          return plot(figure, content);
      },
      view.content);
  if (!drawn) return std::nullopt;
  figure.data_table_html = table_html(view);
  return figure;
}

bool is_on_page(const Record& record, const View& view) {
  return record.kind != Kind::survey || !view.note.empty();
}

std::vector<Figure> make_figures(const Record& record) {
  std::vector<Figure> figures;
  std::set<std::string> stems;
  for (View view : record.views) {
    if (!is_on_page(record, view)) continue;
    const std::string name = view.name;
    for (int same = 2; !stems.insert(file_stem(view.name)).second; ++same)
      view.name = fmt::format("{}_{}", same, name);
    auto figure = figure_of(view);
    if (!figure) continue;
    figure->view = name;
    figures.push_back(*std::move(figure));
  }
  return figures;
}

namespace {

constexpr std::size_t kLabelled = 32;    // up to here every row has its label
constexpr std::size_t kWithValues = 16;  // up to here there is room for the values
constexpr std::size_t kDrawn = 128;      // more rows than this are drawn in blocks

using Value = std::optional<double>;

// Median of a block off the diagonal; null if it has no value.
Value block_median(const Matrix& matrix, std::size_t row, std::size_t column, std::size_t step) {
  std::vector<double> values;
  for (std::size_t i = row; i < std::min(row + step, matrix.rows.size()); ++i)
    for (std::size_t j = column; j < std::min(column + step, matrix.columns.size()); ++j)
      if (const Value& x = matrix.values[i][j]; x && std::isfinite(*x)) values.push_back(*x);
  return values.empty() ? std::nullopt : Value(core::median(values));
}

std::vector<double> all_values(const Matrix& matrix) {
  std::vector<double> values;
  for (const auto& row : matrix.values)
    for (const Value& x : row)
      if (x && std::isfinite(*x)) values.push_back(*x);
  return values;
}

// The value of the row's own column; null if it has none.
Value own_value(const Matrix& matrix, std::size_t row) {
  const auto at = std::find(matrix.columns.begin(), matrix.columns.end(), matrix.rows[row]);
  if (at == matrix.columns.end()) return std::nullopt;
  return matrix.values[row][static_cast<std::size_t>(at - matrix.columns.begin())];
}

std::string matrix_data(const Matrix& matrix, const Shown& shown, std::size_t step) {
  std::string out = "# column row value label\n";
  for (std::size_t i = 0; i < matrix.rows.size(); i += step) {
    for (std::size_t j = 0; j < matrix.columns.size(); j += step) {
      const Value x = block_median(matrix, i, j, step);
      if (!x) continue;
      // Two digits where squares are narrow.
      const double drawn = *x * shown.factor;
      std::string label = matrix.columns.size() <= 10
                              ? shown.number(*x)
                              : fmt::format("{:.{}f}", drawn, drawn < 10 ? 1 : 0);
      if (const Value own = own_value(matrix, i); matrix.own_first && own && *own > 0)
        label += fmt::format(" ({:.2f})", *x / *own);
      out += fmt::format("{} {} {:.6g} \"{}\"\n", j / step, i / step, drawn, plot_label(label));
    }
  }
  return out;
}

std::string ticks(char axis, const std::vector<std::string>& labels, std::size_t block) {
  const std::size_t step = labels.size() <= kLabelled ? 1 : (labels.size() + 7) / 8;
  std::vector<std::string> shown;
  std::vector<double> places;
  for (std::size_t i = 0; i < labels.size(); i += step) {
    shown.push_back(plot_label(labels[i], 14));
    places.push_back(static_cast<double>(i) / static_cast<double>(block));
  }
  return label_ticks(axis, shown, places);
}

std::string frame(const Matrix& matrix) {
  if (!matrix.framed) return "";
  const auto x = static_cast<double>(matrix.framed->column);
  const auto y = static_cast<double>(matrix.framed->row);
  return fmt::format(
      "set object 1 rectangle from {:.2f},{:.2f} to {:.2f},{:.2f} front fs empty border lc rgb "
      "'#d55e00' lw 4\n",
      x - 0.47, y - 0.47, x + 0.47, y + 0.47);
}

// The values, light on dark colours and dark on light ones.
std::string labels(double middle) {
  return fmt::format(
      ", \\\n     data using 1:2:($3 < {0:.6g} ? strcol(4) : '') with labels font ',12' textcolor "
      "rgb '#fefefe', \\\n     data using 1:2:($3 >= {0:.6g} ? strcol(4) : '') with labels font "
      "',12' textcolor rgb '#111111'",
      middle);
}

}  // namespace

bool plot(Figure& figure, const Matrix& matrix) {
  const std::vector<double> values = all_values(matrix);
  const std::set<double> different(values.begin(), values.end());
  // One or two numbers are read faster than a colour bar.
  if (different.size() < 3) return false;
  const std::size_t rows = matrix.rows.size(), columns = matrix.columns.size();
  const std::size_t step = (std::max(rows, columns) + kDrawn - 1) / kDrawn;
  const Shown shown = shown_in(core::median(values), matrix.unit);
  const bool many = !matrix.colours && values.size() > 64;  // then outliers would take all colours
  double low = (many ? core::quantile(values, 0.05) : *different.begin()) * shown.factor;
  double high = (many ? core::quantile(values, 0.95) : *different.rbegin()) * shown.factor;
  if (high - low < 0.02 * std::fabs(high)) low *= 0.99, high *= 1.01;
  if (many) figure.caption += " Colours span the 5 % to the 95 % quantile.";
  double middle = low + 0.6 * (high - low);
  if (matrix.colours) {
    low = matrix.colours->low * shown.factor, high = matrix.colours->high * shown.factor;
    middle = low * std::pow(high / low, 0.6);
  }
  if (step > 1)
    figure.caption += fmt::format(" Each square is the median of {0} × {0} pairs.", step);
  figure.data = matrix_data(matrix, shown, step);
  const int height = std::clamp(160 + 44 * static_cast<int>(rows), 280, 620);
  figure.script = script_head(figure.id, {640, height}) + std::string(heat_palette()) +
                  ticks('x', matrix.columns, step) + ticks('y', matrix.rows, step) + frame(matrix);
  if (matrix.colours) figure.script += "set logscale cb 2\n";
  if (columns > 8 && columns <= kLabelled) figure.script += "set xtics rotate by 90 right\n";
  figure.script += fmt::format(
      "set border 0\nunset grid\nunset key\n"
      "set xrange [-0.5:{0}.5]\nset yrange [{1}.5:-0.5]\n"
      "set cbrange [{2:.6g}:{3:.6g}]\nset cblabel '{4}' textcolor rgb '{5}'\n"
      "set xlabel '{6}'\nset ylabel '{7}'\n"
      "plot data using 1:2:(0.5):(0.5):3 with boxxyerror fs solid noborder lc palette{8}\n",
      (columns - 1) / step, (rows - 1) / step, low, high,
      plot_label(shown.unit.empty() ? matrix.unit : shown.unit), kAxisColour,
      plot_label(matrix.column_axis), plot_label(matrix.row_axis),
      columns <= kWithValues ? labels(middle) : "");
  return true;
}

}  // namespace tabane::lab
