#include "tabane/lab/figures/process_thread.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

std::string id_of(const Table& table) {
  std::string id = table.name;
  std::replace_if(
      id.begin(), id.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return plot_label(id, 60);
}

Figure empty_figure(const Table& table, std::string title) {
  Figure figure;
  figure.id = id_of(table);
  figure.title = std::move(title);
  return figure;
}

// ---- forks ----

std::optional<Figure> forks_figure(const Table& table) {
  const auto* curves = std::get_if<CurvesTable>(&table.content);
  if (curves == nullptr) return std::nullopt;
  PositiveRange x, y;
  std::vector<std::string> parts;
  for (const Curve& curve : curves->series) {
    for (double v : curve.x) x.add(v);
    for (double v : curve.y) y.add(v);
    if (!curve.x.empty())
      parts.push_back(fmt::format("{} {} at {}", curve.name, show(curve.y.back(), "s"),
                                  show(curve.x.back(), "B")));
  }
  if (!(x.low < x.high) || !(y.low <= y.high)) return std::nullopt;
  const Shown shown = shown_in(y.high, "s");
  Figure figure = empty_figure(table, "Start and end of children over resident memory");
  figure.caption = fmt::format("{}. Both axes are logarithmic.", join(parts));
  figure.data = curves_data(*curves, shown.factor);
  figure.data_table_html = table_html(*curves);
  figure.script =
      script_head(figure.id, 720, 460) + byte_ticks(x.low / 1.2, x.high * 1.2) +
      decade_ticks("y", y.low * shown.factor / 1.4, y.high * shown.factor * 1.6) +
      fmt::format("set xlabel 'resident memory'\nset ylabel 'time, {}'\nset key maxrows 2\n",
                  plot_label(shown.unit));
  std::string plots;
  std::size_t index = 0;
  for (std::size_t i = 0; i < curves->series.size(); ++i) {
    if (curves->series[i].x.empty()) continue;
    plots += fmt::format(
        "{}data index {} using 1:2:3:4 with yerrorlines lw 2 pt 7 ps 0.5 lc rgb '{}' title '{}'",
        plots.empty() ? "plot " : ", \\\n     ", index++, series_colour(i),
        plot_label(curves->series[i].name));
  }
  figure.script += plots + "\n";
  return figure;
}

// ---- scaling ----

bool is_law(const Curve& curve) { return curve.name.ends_with(", law"); }

// A law has the colour of what it is fitted to, which stands before it.
std::string scaling_plots(const CurvesTable& curves) {
  std::string plots;
  std::size_t index = 0, colour = 0;
  for (const Curve& curve : curves.series) {
    if (curve.x.empty()) continue;
    if (!is_law(curve)) ++colour;
    plots += fmt::format("{}data index {} using 1:2 with {} lc rgb '{}' title '{}'",
                         plots.empty() ? "plot " : ", \\\n     ", index++,
                         is_law(curve) ? "lines lw 1.5 dt 2" : "linespoints lw 2 pt 7 ps 0.6",
                         series_colour(colour - 1), plot_label(curve.name));
  }
  return plots;
}

std::optional<Figure> scaling_figure(const Table& table, bool efficiency) {
  const auto* curves = std::get_if<CurvesTable>(&table.content);
  if (curves == nullptr) return std::nullopt;
  PositiveRange x, y;
  std::vector<std::string> parts;
  for (const Curve& curve : curves->series) {
    for (double v : curve.x) x.add(v);
    for (double v : curve.y) y.add(v);
    if (curve.x.empty() || is_law(curve)) continue;
    parts.push_back(fmt::format("{} {:.2f} with {:g}", curve.name, curve.y.back(), curve.x.back()));
  }
  if (!(x.low < x.high)) return std::nullopt;
  const std::string workload = text_parameter(table, "workload");
  const std::string what = efficiency ? "Efficiency" : "Speed-up";
  Figure figure = empty_figure(table, fmt::format("{}: {}", what, workload));
  figure.caption = fmt::format(
      "{} over one worker ({}): {}. Dashed: the scalability law fitted up to as many workers as "
      "PUs.",
      what, text_parameter(table, "allocator"), join(parts));
  figure.data = curves_data(*curves, 1);
  figure.data_table_html = table_html(*curves);
  const double top = std::max(y.high, efficiency ? 1.0 : x.high);
  figure.script = script_head(figure.id, 640, 420) +
                  fmt::format(
                      "set xrange [1:{:.6g}]\nset yrange [0:{:.6g}]\nset xlabel 'workers'\n"
                      "set ylabel '{}'\nset title '{}' textcolor rgb '{}'\n{}",
                      x.high, top * 1.05, plot_label(curves->y.name), plot_label(workload, 60),
                      kAxisColour, x.high <= 16 ? "set xtics 1\n" : "");
  figure.script += scaling_plots(*curves);
  figure.script += fmt::format(", \\\n     {} with lines lw 1 lc rgb '{}' title 'ideal'\n",
                               efficiency ? "1" : "x", kMarkColour);
  return figure;
}

// ---- processes × threads ----

std::string axis_ticks(const char* axis, const std::vector<std::string>& labels) {
  std::string out;
  for (std::size_t i = 0; i < labels.size(); ++i)
    out += fmt::format("{}'{}' {}", out.empty() ? "" : ", ", plot_label(labels[i], 14), i);
  return fmt::format("set {}tics ({}) scale 0\n", axis, out);
}

struct Best {
  double value = 0;
  std::size_t row = 0, column = 0;
};

Best best_of(const MatrixTable& matrix) {
  Best best;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    for (std::size_t j = 0; j < matrix.columns.size(); ++j) {
      const double value = matrix.values[i][j].value_or(0);
      if (value > best.value) best = {value, i, j};
    }
  }
  return best;
}

std::string heat_data(const MatrixTable& matrix) {
  std::string out = "# column row speed-up label\n";
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    for (std::size_t j = 0; j < matrix.columns.size(); ++j) {
      if (const auto& x = matrix.values[i][j])
        out += fmt::format("{} {} {:.6g} \"{:.{}f}\"\n", j, i, *x, *x, *x < 9.95 ? 2 : 1);
    }
  }
  return out;
}

// A frame around the cell of these labels; empty if there is none.
std::string frame(const MatrixTable& matrix, const std::string& row, const std::string& column) {
  const auto i = std::find(matrix.rows.begin(), matrix.rows.end(), row) - matrix.rows.begin();
  const auto j =
      std::find(matrix.columns.begin(), matrix.columns.end(), column) - matrix.columns.begin();
  if (i == std::ssize(matrix.rows) || j == std::ssize(matrix.columns)) return "";
  const auto y = static_cast<double>(i), x = static_cast<double>(j);
  return fmt::format(
      "set object 1 rectangle from {:.2f},{:.2f} to {:.2f},{:.2f} front fs empty border lc rgb "
      "'#d55e00' lw 4\n",
      x - 0.47, y - 0.47, x + 0.47, y + 0.47);
}

std::optional<Figure> shapes_figure(const Table& table) {
  const auto* matrix = std::get_if<MatrixTable>(&table.content);
  if (matrix == nullptr) return std::nullopt;
  const Best best = best_of(*matrix);
  if (!(best.value > 0)) return std::nullopt;
  const std::string workload = text_parameter(table, "workload");
  const std::string p = text_parameter(table, "chosen_processes");
  const std::string t = text_parameter(table, "chosen_threads");
  Figure figure = empty_figure(table, fmt::format("Processes and threads: {}", workload));
  figure.caption = fmt::format("Speed-up over one worker ({}): at most {:.2f}, with {} x {}.",
                               text_parameter(table, "allocator"), best.value,
                               matrix->rows[best.row], matrix->columns[best.column]);
  if (!p.empty())
    figure.caption += fmt::format(" The frame is what was chosen, {} x {}: {}.", p, t,
                                  text_parameter(table, "reason"));
  figure.data = heat_data(*matrix);
  figure.data_table_html = table_html(*matrix);
  figure.script = script_head(figure.id, 560, 460) + std::string(heat_palette()) +
                  axis_ticks("x", matrix->columns) + axis_ticks("y", matrix->rows) +
                  frame(*matrix, p, t);
  figure.script += fmt::format(
      "set border 0\nunset grid\nunset key\nset title '{0}' textcolor rgb '{1}'\n"
      "set xrange [-0.5:{2}.5]\nset yrange [-0.5:{3}.5]\nset cbrange [0:{4:.6g}]\n"
      "set cblabel 'speed-up' textcolor rgb '{1}'\n"
      "set xlabel 'threads in each process'\nset ylabel 'processes'\n"
      "plot data using 1:2:(0.5):(0.5):3 with boxxyerror fs solid noborder lc palette, \\\n"
      "     data using 1:2:($3 < {5:.6g} ? strcol(4) : '') with labels font ',12' textcolor rgb "
      "'#fefefe', \\\n"
      "     data using 1:2:($3 >= {5:.6g} ? strcol(4) : '') with labels font ',12' textcolor rgb "
      "'#111111'\n",
      plot_label(workload, 60), kAxisColour, matrix->columns.size() - 1, matrix->rows.size() - 1,
      best.value, 0.6 * best.value);
  return figure;
}

}  // namespace

std::vector<Figure> make_process_thread_figures(const SurveyRecord& record) {
  std::vector<Figure> figures;
  for (const Table& table : record.tables) {
    std::optional<Figure> figure;
    if (table.name == "process_thread.forks") figure = forks_figure(table);
    if (table.name.starts_with("process_thread.scaling.")) figure = scaling_figure(table, false);
    if (table.name.starts_with("process_thread.efficiency.")) figure = scaling_figure(table, true);
    if (table.name.starts_with("process_thread.shapes.")) figure = shapes_figure(table);
    if (figure) figures.push_back(*std::move(figure));
  }
  return figures;
}

}  // namespace tabane::lab
