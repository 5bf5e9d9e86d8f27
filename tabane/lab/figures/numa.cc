#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

// The row's own node: the column of the same name, else its best one. Null if the row is empty.
std::optional<double> local_value(const MatrixTable& table, std::size_t row) {
  std::optional<double> best;
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    const auto& x = table.values[row][j];
    if (!x || !(*x > 0)) continue;
    if (table.columns[j] == table.rows[row]) return x;
    if (!best || (table.better == Better::lower ? *x < *best : *x > *best)) best = x;
  }
  return best;
}

std::string caption(const MatrixTable& table) {
  double worst = 1;
  std::optional<double> nearest, farthest;
  std::string pair;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto local = local_value(table, i);
    for (std::size_t j = 0; local && j < table.columns.size(); ++j) {
      const auto& x = table.values[i][j];
      if (!x || !(*x > 0)) continue;
      const double loss = table.better == Better::lower ? *x / *local : *local / *x;
      if (loss < worst && farthest) continue;
      worst = loss;
      nearest = local;
      farthest = x;
      pair = fmt::format("{} reaching {}", table.rows[i], table.columns[j]);
    }
  }
  if (!farthest) return "No pair of nodes could be measured.";
  const double ratio = *farthest / *nearest;
  return fmt::format(
      "Rows are where the cores are, columns where the memory is; the second number is the ratio "
      "to "
      "the row's own node. The dearest way is {}: {}, {:.3g} of the {} at home.",
      pair, show(*farthest, table.unit), ratio, show(*nearest, table.unit));
}

std::string axis_ticks(const char* axis, const std::vector<std::string>& labels) {
  std::string out;
  for (std::size_t i = 0; i < labels.size(); ++i)
    out += fmt::format("{}'{}' {}", out.empty() ? "" : ", ", plot_label(labels[i], 14), i);
  return fmt::format("set {}tics ({}) scale 0\n", axis, out);
}

Figure numa_figure(std::string id, std::string title, const MatrixTable& table) {
  double low = INFINITY, high = 0;
  for (const auto& row : table.values)
    for (const auto& x : row)
      if (x) low = std::min(low, *x), high = std::max(high, *x);
  const Shown shown = shown_in(high, table.unit);
  Figure figure{.id = std::move(id),
                .title = std::move(title),
                .caption = caption(table),
                .script = "",
                .data = "# column row value label\n",
                .svg = "",
                .data_table_html = table_html(table)};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto local = local_value(table, i);
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      const auto& x = table.values[i][j];
      if (!x || !local)
        figure.data += fmt::format("{} {} NaN \"-\"\n", j, i);
      else
        figure.data += fmt::format("{} {} {:.6g} \"{} ({:.2f})\"\n", j, i, *x * shown.factor,
                                   shown.number(*x), *x / *local);
    }
    figure.data += "\n";
  }
  const double from = low * shown.factor * 0.999, to = high * shown.factor * 1.001;
  const int height = std::clamp(140 + 60 * static_cast<int>(table.rows.size()), 260, 620);
  figure.script = script_head(figure.id, 640, height);
  figure.script += std::string(heat_palette());
  figure.script += axis_ticks("x", table.columns) + axis_ticks("y", table.rows);
  const bool roomy = table.columns.size() <= 8;
  figure.script += fmt::format(
      "set border 0\nunset grid\nunset key\nset xrange [-0.5:{}.5]\nset yrange [{}.5:-0.5]\n"
      "set cbrange [{:.6g}:{:.6g}]\nset cblabel '{}' textcolor rgb '{}'\n"
      "set xlabel 'memory on'\nset ylabel 'cores of'\n"
      "plot data using 1:2:3 with image",
      table.columns.size() - 1, table.rows.size() - 1, from, to, plot_label(shown.unit),
      kAxisColour);
  if (roomy)
    figure.script += fmt::format(
        ", \\\n     data using 1:2:($3 < {0:.6g} ? strcol(4) : '') with labels textcolor rgb "
        "'#fefefe', \\\n     data using 1:2:($3 >= {0:.6g} ? strcol(4) : '') with labels textcolor "
        "rgb '#111111'",
        from + 0.6 * (to - from));
  figure.script += "\n";
  return figure;
}

}  // namespace

std::vector<Figure> numa_figures(const SurveyRecord& record) {
  std::vector<Figure> figures;
  const auto add = [&](const char* name, const char* id, const char* title) {
    const auto* table = find_content<MatrixTable>(record, name);
    if (table == nullptr || table->rows.size() * table->columns.size() < 2) return;
    const bool any = std::any_of(table->values.begin(), table->values.end(), [](const auto& row) {
      return std::any_of(row.begin(), row.end(), [](const auto& x) { return x && *x > 0; });
    });
    if (any) figures.push_back(numa_figure(id, title, *table));
  };
  add("numa.latency", "numa_latency", "Latency between NUMA nodes");
  add("numa.bandwidth.first", "numa_bandwidth_first", "Bandwidth between NUMA nodes, first touch");
  add("numa.bandwidth.second", "numa_bandwidth_second",
      "Bandwidth between NUMA nodes, memory touched before");
  return figures;
}

}  // namespace tabane::lab
