#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kLabelled = 32;    // up to here every PU has its label
constexpr std::size_t kWithValues = 16;  // up to here the cells have room for their value
constexpr std::size_t kDrawn = 128;      // more PUs than this are drawn in blocks

// Median of the block's values off the diagonal; null if it has none.
std::optional<double> block_median(const MatrixTable& table, std::size_t row, std::size_t column,
                                   std::size_t step) {
  std::vector<double> values;
  for (std::size_t i = row; i < std::min(row + step, table.rows.size()); ++i)
    for (std::size_t j = column; j < std::min(column + step, table.columns.size()); ++j)
      if (const auto& x = table.values[i][j]; i != j && x && std::isfinite(*x))
        values.push_back(*x);
  return values.empty() ? std::nullopt : std::optional(core::median(values));
}

std::string matrix_data(const MatrixTable& table, const Shown& shown, std::size_t step) {
  std::string out;
  for (std::size_t i = 0; i < table.rows.size(); i += step) {
    for (std::size_t j = 0; j < table.columns.size(); j += step) {
      const auto x = block_median(table, i, j, step);
      if (j > 0) out += ' ';
      out += x ? fmt::format("{:.4g}", *x * shown.factor) : "NaN";
    }
    out += '\n';
  }
  return out;
}

std::string ticks(const char* axis, const std::vector<std::string>& labels, std::size_t block) {
  const std::size_t step = labels.size() <= kLabelled ? 1 : (labels.size() + 7) / 8;
  std::string out;
  for (std::size_t i = 0; i < labels.size(); i += step)
    out += fmt::format("{}'{}' {}", out.empty() ? "" : ", ", plot_label(labels[i], 12),
                       static_cast<double>(i) / static_cast<double>(block));
  return fmt::format("set {}tics ({}) scale 0\n", axis, out);
}

std::vector<double> off_diagonal(const MatrixTable& table) {
  std::vector<double> values;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    for (std::size_t j = 0; j < table.columns.size(); ++j)
      if (i != j && table.values[i][j] && std::isfinite(*table.values[i][j]))
        values.push_back(*table.values[i][j]);
  return values;
}

std::string caption(const MatrixTable& table, const std::vector<double>& values) {
  double low = values[0], high = values[0];
  std::pair<std::size_t, std::size_t> near, far;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
      const auto& x = table.values[i][j];
      if (i == j || !x) continue;
      if (*x <= low) low = *x, near = {i, j};
      if (*x >= high) high = *x, far = {i, j};
    }
  if (values.size() <= 2)
    return fmt::format("A line of memory goes from one PU to the other in {}.",
                       show(core::median(values), table.unit));
  return fmt::format(
      "A line of memory goes from PU to PU in {} at the median. The nearest pair, {} and {}, needs "
      "{}; the farthest, {} and {}, needs {}, {:.3g} times as long. PUs stand in topology order, "
      "so "
      "blocks on the diagonal are groups that share a cache; colours span the 5 % to the 95 % "
      "quantile.",
      show(core::median(values), table.unit), table.rows[near.first], table.columns[near.second],
      show(low, table.unit), table.rows[far.first], table.columns[far.second],
      show(high, table.unit), low > 0 ? high / low : 0.0);
}

// The values in the cells, light on dark colours and dark on light ones.
std::string cell_labels(double middle) {
  return fmt::format(
      ", \\\n     data matrix using 1:2:($3 < {0:.6g} ? sprintf('%.3g', $3) : '') with labels font "
      "',11' textcolor rgb '#fefefe', \\\n     data matrix using 1:2:($3 >= {0:.6g} ? "
      "sprintf('%.3g', $3) : '') with labels font ',11' textcolor rgb '#111111'",
      middle);
}

}  // namespace

std::optional<Figure> core_to_core_figure(const SurveyRecord& record) {
  const auto* table = find_content<MatrixTable>(record, "core_to_core.latency");
  if (table == nullptr) return std::nullopt;
  const auto values = off_diagonal(*table);
  if (values.empty()) return std::nullopt;
  const std::size_t n = table->rows.size();
  const std::size_t step = (n + kDrawn - 1) / kDrawn;
  const Shown shown = shown_in(core::median(values), table->unit);
  double low = core::quantile(values, 0.05) * shown.factor;
  double high = core::quantile(values, 0.95) * shown.factor;
  if (high - low < 0.02 * std::fabs(high)) low *= 0.99, high *= 1.01;

  Figure figure{.id = "core_to_core",
                .title = "From core to core",
                .caption = caption(*table, values),
                .script = "",
                .data = matrix_data(*table, shown, step),
                .svg = "",
                .data_table_html = table_html(*table)};
  if (step > 1) figure.caption += fmt::format(" A cell is the median of {0} × {0} pairs.", step);
  figure.script = script_head(figure.id, 640, 560);
  figure.script += std::string(heat_palette());
  figure.script += ticks("x", table->columns, step) + ticks("y", table->rows, step);
  if (n > 8 && n <= kLabelled) figure.script += "set xtics rotate by 90 right\n";
  figure.script += fmt::format(
      "set border 0\nunset grid\nunset key\nset size ratio 1\n"
      "set xrange [-0.5:{0}.5]\nset yrange [{0}.5:-0.5]\n"
      "set cbrange [{1:.6g}:{2:.6g}]\nset cblabel '{3}' textcolor rgb '{4}'\n"
      "set xlabel 'PU'\nset ylabel 'PU'\n"
      "plot data matrix with image{5}\n",
      (n - 1) / step, low, high, plot_label(shown.unit), kAxisColour,
      n <= kWithValues ? cell_labels(low + 0.6 * (high - low)) : "");
  return figure;
}

}  // namespace tabane::lab
