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

// Binary sizes at powers of two, at most `most` of them.
std::string byte_ticks(char axis, double low, double high, int most) {
  const int first = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(high) + 1e-9));
  int step = 1;
  while ((last - first) / step >= most) ++step;
  std::vector<std::string> ticks;
  for (int k = first + (step - first % step) % step; k <= last; k += step)
    ticks.push_back(tick(show(std::exp2(k), "B"), std::exp2(k)));
  return fmt::format("set logscale {} 2\n", axis) + joined_ticks(axis, ticks);
}

}  // namespace

double round_step(double between, int most) {
  double step = std::pow(10.0, std::floor(std::log10(between / most)));
  for (int i = 0; between / step > most; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  return step;
}

namespace {

// The finest of all digits, 1, 2 and 5, and 1 of every first, second … decade with at most `most`
// ticks; equal steps where there are few digits.
std::string decade_ticks(char axis, double low, double high, int most) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  std::vector<std::string> ticks;
  for (int fineness = 0; fineness == 0 || std::ssize(ticks) > most; ++fineness) {
    ticks.clear();
    for (int decade = first; decade <= last; decade += std::max(1, fineness - 1))
      for (int digit = 1; digit < (fineness < 2 ? 10 : 2); ++digit) {
        const double x = digit * std::pow(10.0, decade);
        const bool fine = fineness == 0 || digit == 1 || digit == 2 || digit == 5;
        if (fine && x >= low && x <= high) ticks.push_back(tick(fmt::format("{:g}", x), x));
      }
  }
  if (ticks.size() < 4 && high > low && high < 10 * low) {
    ticks.clear();
    const double step = round_step(high - low, 5);
    for (double k = std::ceil(low / step); k * step <= high; ++k)
      ticks.push_back(tick(fmt::format("{:g}", k * step), k * step));
  }
  return fmt::format("set logscale {} 10\n", axis) + joined_ticks(axis, ticks);
}

// Counts on a logarithmic axis, without those that have no room behind the one before.
std::string count_ticks(char axis, const std::set<double>& values, const Extent& range,
                        Format format) {
  std::vector<std::string> ticks;
  const double width = 0.8 * format.width / std::log(range.high / range.low);
  double free_from = 0;
  for (const double v : values) {
    const std::string label = fmt::format("{:g}", v);
    const double at = width * std::log(v / range.low), half = format.text(label.size() + 1) / 2;
    if (!ticks.empty() && at - half < free_from) continue;
    ticks.push_back(tick(label, v));
    free_from = at + half;
  }
  return fmt::format("set logscale {} 2\n", axis) + joined_ticks(axis, ticks);
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

bool whole(const std::set<double>& values) {
  return !values.empty() &&
         std::ranges::all_of(values, [](double v) { return v == std::floor(v); });
}

}  // namespace

std::span<const FigureColour> figure_colours() { return kColours; }

std::string_view series_colour(std::size_t i) {
  return kColours[kFirstSeries + i % (kColours.size() - kFirstSeries)].hex;
}

std::string script_head(std::string_view id, Format format, double height) {
  return fmt::format(
      "set terminal svg size {1},{2:.0f} noenhanced font 'sans-serif,{3}' background '#ffffff' "
      "standalone\n"
      "set encoding utf8\n"
      "set output '{0}{4}.svg'\n"
      "data = '{0}.dat'\n"
      "set border 3 lc rgb '{5}'\n"
      "set tics nomirror scale 0.5 textcolor rgb '{5}'\n"
      "set mxtics 1\nset mytics 1\n"
      "set grid x y lt 1 lw 1 lc rgb '{6}'\n"
      "set xlabel offset 0,0.4 textcolor rgb '{5}'\nset ylabel textcolor rgb '{5}'\n",
      id, format.width, height, format.font, format.suffix(), kAxisColour, kColours[1].hex);
}

Key key_below(std::size_t entries, std::size_t longest, Format format, double width,
              double height) {
  // As gnuplot draws it: characters of 0.65, lines of 1.5 font sizes, a sample before each name.
  const double entry = (0.65 * double(longest) + 4) * format.font;
  const auto columns = std::clamp<std::size_t>(std::size_t(width / entry), 1, entries);
  const double rows = 1.5 * format.font * double((entries + columns - 1) / columns);
  const double axis = 4.2 * format.font;
  return {
      height + rows,
      fmt::format("set key at screen 0.01, screen 0 bottom left Left reverse samplen 1.5 width 0 "
                  "horizontal maxcols {}\nset bmargin at screen {:.4f}\n",
                  columns, (rows + axis) / (height + rows))};
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
                       const std::set<double>& values, Format format) {
  double low = range.low * shown.factor, high = range.high * shown.factor;
  const int most = name == 'y' ? 9 : static_cast<int>(0.8 * format.width / format.text(8));
  std::string out;
  if (axis.log) {
    // Room for the points at the ends; above the curves also for the names of marks.
    const double above = std::max(1.4, std::pow(high / low, 0.1));
    low /= name == 'y' ? 1.4 : 1.15;
    high *= name == 'y' ? above : 1.15;
    if (axis.unit == "B" && name == 'x')
      out = byte_ticks(name, low, high, most);
    else if (name == 'x' && whole(values) && *values.begin() > 0 && values.size() <= kMostTicks)
      out = count_ticks(name, values, range, format);
    else
      out = decade_ticks(name, low, high, most);
  } else if (name == 'y') {
    low = std::min(0.0, low);
    high *= 1.08;
  } else if (whole(values)) {
    out = fmt::format("set xtics {:g}\n", std::max(1.0, round_step(high - low, most)));
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
        if constexpr (!std::is_same_v<T, Rows> && !std::is_same_v<T, Image>) {
          if (!plot(figure, content, kWide)) return false;
          figure.script += "reset\n";
          return plot(figure, content, kNarrow);
        }
        return false;
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

// One colour for another where a value is drawn: viridis. source: van der Walt and Smith, 2015.
constexpr const char* kHeatPalette =
    "set palette maxcolors 64 defined (0 '#440154', 1 '#482878', 2 '#3e4989', 3 '#31688e', "
    "4 '#26828e', 5 '#1f9e89', 6 '#35b779', 7 '#6ece58', 8 '#b5de2b', 9 '#fde725')\n";
constexpr std::size_t kDrawn = 128;       // more rows than this are drawn in blocks
constexpr std::size_t kLongestTick = 14;  // characters of a row's name

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
  const auto at = std::ranges::find(matrix.columns, matrix.rows[row]);
  if (at == matrix.columns.end()) return std::nullopt;
  return matrix.values[row][static_cast<std::size_t>(at - matrix.columns.begin())];
}

std::string matrix_data(const Matrix& matrix, const Shown& shown, std::size_t step,
                        std::size_t& longest) {
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
      longest = std::max(longest, label.size());
      out += fmt::format("{} {} {:.6g} \"{}\"\n", j / step, i / step, drawn, plot_label(label));
    }
  }
  return out;
}

// Every label that has room, and every second, third … where there is none: a label needs `room`
// squares.
std::string ticks(char axis, const std::vector<std::string>& labels, std::size_t block,
                  double room) {
  const auto step = block * std::max<std::size_t>(1, std::size_t(std::ceil(room)));
  std::vector<std::string> shown;
  std::vector<double> places;
  for (std::size_t i = 0; i < labels.size(); i += step) {
    shown.push_back(plot_label(labels[i], kLongestTick));
    places.push_back(static_cast<double>(i) / static_cast<double>(block));
  }
  return label_ticks(axis, shown, places);
}

std::size_t longest_of(const std::vector<std::string>& labels) {
  std::size_t longest = 0;
  for (const std::string& label : labels) longest = std::max(longest, label.size());
  return std::min(longest, kLongestTick);
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
std::string labels(double middle, int font) {
  return fmt::format(
      ", \\\n     data using 1:2:($3 < {0:.6g} ? strcol(4) : '') with labels font ',{1}' textcolor "
      "rgb '#fefefe', \\\n     data using 1:2:($3 >= {0:.6g} ? strcol(4) : '') with labels font "
      "',{1}' textcolor rgb '#111111'",
      middle, font);
}

}  // namespace

bool plot(Figure& figure, const Matrix& matrix, Format format) {
  const std::vector<double> values = all_values(matrix);
  const std::set<double> different(values.begin(), values.end());
  // One or two numbers are read faster than a colour bar.
  if (different.size() < 3) return false;
  const std::size_t step =
      (std::max(matrix.rows.size(), matrix.columns.size()) + kDrawn - 1) / kDrawn;
  const auto rows = double((matrix.rows.size() - 1) / step + 1);
  const auto columns = double((matrix.columns.size() - 1) / step + 1);
  const Shown shown = shown_in(core::median(values), matrix.unit);
  const bool many = !matrix.colours && values.size() > 64;  // then outliers would take all colours
  double low = (many ? core::quantile(values, 0.05) : *different.begin()) * shown.factor;
  double high = (many ? core::quantile(values, 0.95) : *different.rbegin()) * shown.factor;
  if (high - low < 0.02 * std::fabs(high)) low *= 0.99, high *= 1.01;
  double middle = low + 0.6 * (high - low);
  if (matrix.colours) {
    low = matrix.colours->low * shown.factor, high = matrix.colours->high * shown.factor;
    middle = low * std::pow(high / low, 0.6);
  }
  if (!format.narrow()) {  // once, not for every drawing
    if (many) figure.caption += " Colours span the 5 % to the 95 % quantile.";
    if (step > 1)
      figure.caption += fmt::format(" Each square is the median of {0} × {0} pairs.", step);
  }
  // Room around the squares: names of rows, the bar of colours, names of columns.
  std::size_t longest = 0;
  figure.data = matrix_data(matrix, shown, step, longest);
  const double left = format.text(longest_of(matrix.rows)) + 3 * format.font;
  const double right = 6.5 * format.font;
  const double square = (format.width - left - right) / columns;
  const double across = format.text(longest_of(matrix.columns) + 1);
  const bool upright = across > square && format.line() <= 2 * square;
  const double below = (upright ? across : format.line()) + 3 * format.font;
  const double line = std::clamp(square, format.line(), 3.2 * format.font);
  const double height = std::min(rows * line, double(format.width)) + below + 20;
  figure.script += script_head(figure.id, format, height) + kHeatPalette +
                   ticks('x', matrix.columns, step, (upright ? format.line() : across) / square) +
                   ticks('y', matrix.rows, step, rows * format.line() / (height - below - 20)) +
                   frame(matrix);
  if (upright) figure.script += "set xtics rotate by 90 right\n";
  const int font = std::min(format.font, 12);
  figure.script += fmt::format(
      "set border 0\nunset grid\nunset key\n"
      "set lmargin at screen {9:.4f}\nset rmargin at screen {10:.4f}\n"
      "set bmargin at screen {11:.4f}\nset tmargin at screen {12:.4f}\n"
      "set xrange [-0.5:{0}.5]\nset yrange [{1}.5:-0.5]\n"
      "set cbrange [{2:.6g}:{3:.6g}]\nset format cb '{14}'\n{13}"
      "set label '{4}' at screen 0.99, screen {15:.4f} right textcolor rgb '{5}'\n"
      "set xlabel '{6}'\nset ylabel '{7}'\n"
      "plot data using 1:2:(0.5):(0.5):3 with boxxyerror fs solid noborder lc palette{8}\n",
      columns - 1, rows - 1, low, high,
      plot_label(shown.unit.empty() ? matrix.unit : shown.unit, 10), kAxisColour,
      plot_label(matrix.column_axis), plot_label(matrix.row_axis),
      0.64 * font * double(longest) < square ? labels(middle, font) : "", left / format.width,
      1 - right / format.width, below / height, 1 - 10 / height,
      matrix.colours ? "set logscale cb 2\n"
                     : fmt::format("set cbtics {:g}\n",
                                   round_step(high - low, std::max(1, int((height - below - 20) /
                                                                          (1.5 * format.line()))))),
      high < 1e5 ? "%g" : "%.1s%c", format.line() / 2 / height);
  return true;
}

}  // namespace tabane::lab
