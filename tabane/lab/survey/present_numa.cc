#include <fmt/format.h>

#include <cmath>

#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

// The row's own node: the column of the same name, else its best one. Null if the row is empty.
std::optional<double> home_value(const Matrix& matrix, std::size_t row) {
  std::optional<double> best;
  for (std::size_t j = 0; j < matrix.columns.size(); ++j) {
    const auto& x = matrix.values[row][j];
    if (!x || !(*x > 0)) continue;
    if (matrix.columns[j] == matrix.rows[row]) return x;
    if (!best || (matrix.better == Better::lower ? *x < *best : *x > *best)) best = x;
  }
  return best;
}

struct Way {
  std::size_t row = 0, column = 0;
  double value = 0, home = 0;
  double loss = 0;  // times as dear as at home
};

// Null if no pair was measured.
std::optional<Way> dearest_way(const Matrix& matrix) {
  std::optional<Way> dearest;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    const auto home = home_value(matrix, i);
    for (std::size_t j = 0; home && j < matrix.columns.size(); ++j) {
      const auto& x = matrix.values[i][j];
      if (!x || !(*x > 0)) continue;
      const double loss = matrix.better == Better::lower ? *x / *home : *home / *x;
      if (!dearest || loss > dearest->loss) dearest = Way{i, j, *x, *home, loss};
    }
  }
  return dearest;
}

std::string note(const Matrix& matrix, const Way& way) {
  const std::string text =
      "Rows are where the cores are, columns where the memory is; the number in brackets is the "
      "ratio to the row's own node. ";
  if (way.loss < 1.005) return text + "No way is dearer than the one to the own node.";
  return text + fmt::format("The dearest way is {} reaching {}: {}, {:.2f} times the {} at home.",
                            matrix.rows[way.row], matrix.columns[way.column],
                            show(way.value, matrix.unit), way.value / way.home,
                            show(way.home, matrix.unit));
}

}  // namespace

std::vector<View> present_numa(const Record& record) {
  std::vector<View> views;
  const auto add = [&](const char* name, const char* title) {
    const auto* measured = find_content<Matrix>(record, name);
    if (measured == nullptr || measured->rows.size() * measured->columns.size() < 2) return;
    const auto way = dearest_way(*measured);
    if (!way) return;
    View view = *record.find_view(name);
    auto& matrix = std::get<Matrix>(view.content);
    matrix.row_axis = "cores of";
    matrix.column_axis = "memory on";
    matrix.own_first = true;
    view.title = title;
    view.note = note(matrix, *way);
    views.push_back(std::move(view));
  };
  add("numa.latency", "Latency between NUMA nodes");
  add("numa.latency.loaded", "Latency between NUMA nodes under load");
  add("numa.bandwidth.first", "Bandwidth between NUMA nodes, first touch");
  add("numa.bandwidth.second", "Bandwidth between NUMA nodes, memory touched before");
  return views;
}

}  // namespace tabane::lab
