#include "tabane/lab/figures/aes_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

// The last part of a dotted name: the number of files.
std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// ---- threads × size ----

struct Extreme {
  double value;
  std::size_t row, column;
};

struct Extremes {
  std::optional<Extreme> low, high;
};

Extremes extremes(const MatrixTable& table) {
  Extremes found;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      const auto& x = table.values[i][j];
      if (!x || !(*x > 0) || !std::isfinite(*x)) continue;
      if (!found.low || *x < found.low->value) found.low = Extreme{*x, i, j};
      if (!found.high || *x > found.high->value) found.high = Extreme{*x, i, j};
    }
  return found;
}

std::string axis_ticks(const char* axis, const std::vector<std::string>& labels) {
  std::string out;
  for (std::size_t i = 0; i < labels.size(); ++i)
    out += fmt::format("{}'{}' {}", out.empty() ? "" : ", ", plot_label(labels[i], 14), i);
  return fmt::format("set {}tics ({}) scale 0\n", axis, out);
}

std::string heat_data(const MatrixTable& table) {
  std::string out = "# column row log2(ratio) label\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      const auto& x = table.values[i][j];
      out += x && *x > 0 ? fmt::format("{} {} {:.4f} \"{:.{}f}\"\n", j, i, std::log2(*x), *x,
                                       *x < 99.5 ? (*x < 9.95 ? 2 : 1) : 0)
                         : fmt::format("{} {} NaN \"-\"\n", j, i);
    }
    out += "\n";
  }
  return out;
}

// Colours of all heat maps of the study are the same: ratios from 1 to 16.
constexpr double kColdest = 0, kHottest = 4;

std::optional<Figure> threads_figure(const Table& table) {
  const auto* matrix = std::get_if<MatrixTable>(&table.content);
  if (matrix == nullptr) return std::nullopt;
  const auto [low, high] = extremes(*matrix);
  if (!low) return std::nullopt;
  const std::string who = text_parameter(table, "implementation"), files = last_part(table.name);
  std::string id = table.name;
  std::replace(id.begin(), id.end(), '.', '_');
  Figure figure{.id = plot_label(id),
                .title = fmt::format("{}: threads and file size, {} files", who, files),
                .caption = fmt::format(
                    "Mean time as a multiple of the best mean of copying the same {} files: from "
                    "{:.2f} (threads: {}, files of {}) to {:.3g} (threads: {}, files of {}). Dark "
                    "is close to copying.",
                    files, low->value, matrix->rows[low->row], matrix->columns[low->column],
                    high->value, matrix->rows[high->row], matrix->columns[high->column]),
                .script = "",
                .data = heat_data(*matrix),
                .svg = "",
                .data_table_html = table_html(*matrix)};
  figure.script = script_head(
      figure.id, 720, std::clamp(150 + 42 * static_cast<int>(matrix->rows.size()), 260, 620));
  figure.script += std::string(heat_palette());
  figure.script += axis_ticks("x", matrix->columns) + axis_ticks("y", matrix->rows);
  figure.script += fmt::format(
      "set border 0\nunset grid\nunset key\nset title '{0}' textcolor rgb '{1}'\n"
      "set xrange [-0.5:{2}.5]\nset yrange [-0.5:{3}.5]\nset cbrange [{4}:{5}]\n"
      "set cbtics ('1' 0, '2' 1, '4' 2, '8' 3, '16' 4)\n"
      "set cblabel 'time, copying = 1' textcolor rgb '{1}'\n"
      "set xlabel 'file size'\nset ylabel 'threads'\n"
      "plot data using 1:2:(0.5):(0.5):3 with boxxyerror fs solid noborder lc palette, \\\n"
      "     data using 1:2:($3 < {6} ? strcol(4) : '') with labels font ',12' textcolor rgb "
      "'#fefefe', \\\n"
      "     data using 1:2:($3 >= {6} ? strcol(4) : '') with labels font ',12' textcolor rgb "
      "'#111111'\n",
      plot_label(figure.title, 60), kAxisColour, matrix->columns.size() - 1,
      matrix->rows.size() - 1, kColdest, kHottest, kColdest + 0.6 * (kHottest - kColdest));
  return figure;
}

// ---- against the limit ----

std::string ends_sentence(const CurvesTable& table) {
  std::vector<std::string> parts;
  for (const Curve& curve : table.series) {
    if (!curve.x.empty())
      parts.push_back(fmt::format("{} {:.2f} at {} and {:.2f} at {}", curve.name, curve.y.front(),
                                  show(curve.x.front(), "B"), curve.y.back(),
                                  show(curve.x.back(), "B")));
  }
  return join(parts);
}

std::optional<Figure> limit_figure(const Table& table) {
  const auto* curves = std::get_if<CurvesTable>(&table.content);
  if (curves == nullptr) return std::nullopt;
  PositiveRange x, y;
  y.add(1);
  for (const Curve& curve : curves->series) {
    for (double v : curve.x) x.add(v);
    for (double v : curve.y) y.add(v);
  }
  if (!(x.low < x.high)) return std::nullopt;
  const std::string files = last_part(table.name);
  Figure figure{.id = plot_label("aes_folder_limit_" + files),
                .title = fmt::format("Time against copying, {} files", files),
                .caption = fmt::format(
                    "Time as a multiple of plain copying, measured in turn: {}. The line at 1 is "
                    "copying with one thread for each PU; tabane chooses its threads.",
                    ends_sentence(*curves)),
                .script = "",
                .data = curves_data(*curves, 1),
                .svg = "",
                .data_table_html = table_html(*curves)};
  figure.script = script_head(figure.id, 640, 420) + byte_ticks(x.low / 1.2, x.high * 1.2) +
                  decade_ticks("y", y.low / 1.6, y.high * 1.6);
  figure.script += fmt::format(
      "set xlabel 'file size ({} files)'\nset ylabel 'time, copying = 1'\nset key maxrows 2\n"
      "set arrow from graph 0, first 1 to graph 1, first 1 nohead lw 2 lc rgb '#000000'\n",
      plot_label(files));
  std::string plots;
  std::size_t index = 0;
  for (std::size_t i = 0; i < curves->series.size(); ++i) {
    if (curves->series[i].x.empty()) continue;
    plots += fmt::format(
        "{0}data index {1} using 1:3:4 with filledcurves lc rgb '{2}' fs transparent solid 0.18 "
        "noborder notitle, \\\n     data index {1} using 1:2 with linespoints lw 2 pt 7 ps 0.5 lc "
        "rgb '{2}' title '{3}'",
        plots.empty() ? "plot " : ", \\\n     ", index++, series_colour(i),
        plot_label(curves->series[i].name));
  }
  figure.script += plots + "\n";
  return figure;
}

// ---- the order of time ----

std::optional<Figure> order_figure(const Table& table) {
  const auto* curves = std::get_if<CurvesTable>(&table.content);
  if (curves == nullptr) return std::nullopt;
  PositiveRange x, y;
  std::vector<std::string> parts;
  for (const Curve& curve : curves->series) {
    if (curve.x.empty()) continue;
    for (double v : curve.x) x.add(v);
    for (double v : curve.y) y.add(v);
    parts.push_back(fmt::format("{} {} at the median and {} at most", curve.name,
                                show(core::median(curve.y), "s"),
                                show(core::quantile(curve.y, 1), "s")));
  }
  if (parts.empty() || !(y.high > 0)) return std::nullopt;
  const Shown shown = shown_in(y.high, "s");
  Figure figure{
      .id = "aes_folder_order",
      .title = "Runs in the order of time",
      .caption = fmt::format("{}{}: {}. Larger points are outliers by the far fence.",
                             static_cast<char>(std::toupper(static_cast<unsigned char>(
                                 table.what.empty() ? 'R' : table.what[0]))),
                             table.what.empty() ? "uns" : table.what.substr(1), join(parts)),
      .script = "",
      .data = "",
      .svg = "",
      .data_table_html = table_html(*curves)};
  std::string plots;
  std::size_t index = 0;
  for (std::size_t i = 0; i < curves->series.size(); ++i) {
    const Curve& curve = curves->series[i];
    if (curve.x.empty()) continue;
    const auto outliers = core::outliers_far_fence(curve.y);
    figure.data += fmt::format("# {}: order, time in {}, size of the point\n",
                               plot_label(curve.name), plot_label(shown.unit));
    for (std::size_t k = 0; k < curve.x.size(); ++k)
      figure.data +=
          fmt::format("{:.10g} {:.6g} {}\n", curve.x[k], curve.y[k] * shown.factor,
                      std::find(outliers.begin(), outliers.end(), k) == outliers.end() ? 0.45 : 1);
    figure.data += "\n\n";
    plots += fmt::format(
        "{}data index {} using 1:2:3 with points pt 7 ps variable lc rgb '{}' title '{}'",
        plots.empty() ? "plot " : ", \\\n     ", index++,
        curve.name == "copying" ? kMarkColour : series_colour(i), plot_label(curve.name));
  }
  figure.script = script_head(figure.id, 820, 400) +
                  decade_ticks("y", y.low * shown.factor / 1.2, y.high * shown.factor * 1.2) +
                  fmt::format(
                      "set xrange [{:.6g}:{:.6g}]\nset key maxrows 1\n"
                      "set xlabel '{}'\nset ylabel 'time, {}'\n",
                      x.low - 1, x.high + 1, plot_label(table.what, 80), plot_label(shown.unit)) +
                  plots + "\n";
  return figure;
}

}  // namespace

std::vector<Figure> make_aes_folder_figures(const SurveyRecord& record) {
  std::vector<Figure> figures;
  for (const Table& table : record.tables) {
    std::optional<Figure> figure;
    if (table.name.starts_with("aes_folder.threads.")) figure = threads_figure(table);
    if (table.name.starts_with("aes_folder.limit.")) figure = limit_figure(table);
    if (table.name == "aes_folder.order") figure = order_figure(table);
    if (figure) figures.push_back(*std::move(figure));
  }
  return figures;
}

}  // namespace tabane::lab
