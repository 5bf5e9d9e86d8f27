#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/statistics.h"
#include "tabane/lab/page/plot.h"

namespace tabane::lab {
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
