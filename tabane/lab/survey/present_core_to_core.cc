#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

struct Pair {
  double value;
  std::size_t from, to;
};

std::vector<Pair> measured_pairs(const Matrix& matrix) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i)
    for (std::size_t j = 0; j < matrix.columns.size(); ++j)
      if (const auto& x = matrix.values[i][j]; x && std::isfinite(*x)) pairs.push_back({*x, i, j});
  return pairs;
}

std::string note(const Matrix& matrix, const std::vector<Pair>& pairs) {
  std::vector<double> values;
  for (const Pair& pair : pairs) values.push_back(pair.value);
  const std::string middle = show(core::median(values), matrix.unit);
  if (pairs.size() <= 2)
    return fmt::format("A line of memory goes from one PU to the other in {}.", middle);
  const auto [near, far] = std::minmax_element(
      pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.value < b.value; });
  return fmt::format(
      "A line of memory goes from PU to PU in {} at the median. The nearest pair, {} and {}, needs "
      "{}. The farthest, {} and {}, needs {}, {:.3g} times as long. PUs stand in topology order, "
      "so blocks on the diagonal are groups that share a cache.",
      middle, matrix.rows[near->from], matrix.columns[near->to], show(near->value, matrix.unit),
      matrix.rows[far->from], matrix.columns[far->to], show(far->value, matrix.unit),
      near->value > 0 ? far->value / near->value : 0.0);
}

}  // namespace

std::optional<View> present_core_to_core(const Record& record) {
  if (find_content<Matrix>(record, "core_to_core.latency") == nullptr) return std::nullopt;
  View view = *record.find_view("core_to_core.latency");
  auto& matrix = std::get<Matrix>(view.content);
  for (std::size_t i = 0; i < std::min(matrix.rows.size(), matrix.columns.size()); ++i)
    matrix.values[i][i].reset();
  const std::vector<Pair> pairs = measured_pairs(matrix);
  if (pairs.empty()) return std::nullopt;
  matrix.row_axis = matrix.column_axis = "PU";
  view.title = "From core to core";
  view.note = note(matrix, pairs);
  return view;
}

}  // namespace tabane::lab
