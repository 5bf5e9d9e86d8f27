#include "tabane/lab/record/join_passes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tabane/core/statistics.h"

namespace tabane::lab {
namespace {

void add(std::vector<double>& values, std::optional<double> value) {
  if (value && std::isfinite(*value)) values.push_back(*value);
}

std::optional<double> median_or_null(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(core::median(values));
}

// The curve of that name of every view that has one.
std::vector<const Curve*> curves_named(std::span<const View> views, const std::string& name) {
  std::vector<const Curve*> found;
  for (const View& view : views)
    for (const Curve& curve : std::get<Curves>(view.content).series)
      if (curve.name == name) found.push_back(&curve);
  return found;
}

Curve join_curves(const std::vector<const Curve*>& passes) {
  Curve joined = *passes.back();
  if (passes.size() < 2) return joined;
  std::map<double, std::vector<double>> points;
  for (const Curve* curve : passes)
    for (std::size_t i = 0; i < curve->x.size(); ++i) add(points[curve->x[i]], curve->y[i]);
  for (std::vector<double>* part : {&joined.x, &joined.y, &joined.low, &joined.high}) part->clear();
  joined.flagged.clear();
  for (const auto& [x, values] : points) {
    if (values.empty()) continue;
    const core::Interval interval = core::median_interval(values);
    joined.x.push_back(x);
    joined.y.push_back(core::median(values));
    joined.low.push_back(interval.low);
    joined.high.push_back(interval.high);
  }
  return joined;
}

void join(Curves& joined, std::span<const View> views) {
  std::vector<Curve> series;
  for (const View& view : views) {
    for (const Curve& curve : std::get<Curves>(view.content).series) {
      const bool known = std::any_of(series.begin(), series.end(),
                                     [&](const Curve& one) { return one.name == curve.name; });
      if (!known) series.push_back(join_curves(curves_named(views, curve.name)));
    }
  }
  joined.series = std::move(series);
}

std::optional<double> cell(const Matrix& matrix, const std::string& row,
                           const std::string& column) {
  const auto r = std::find(matrix.rows.begin(), matrix.rows.end(), row);
  const auto c = std::find(matrix.columns.begin(), matrix.columns.end(), column);
  if (r == matrix.rows.end() || c == matrix.columns.end()) return std::nullopt;
  return matrix.values[static_cast<std::size_t>(r - matrix.rows.begin())]
                      [static_cast<std::size_t>(c - matrix.columns.begin())];
}

// The matrix with the most cells has the others' rows and columns.
void join(Matrix& joined, std::span<const View> views) {
  for (const View& view : views) {
    const auto& one = std::get<Matrix>(view.content);
    if (one.rows.size() * one.columns.size() > joined.rows.size() * joined.columns.size())
      joined = one;
  }
  for (std::size_t r = 0; r < joined.rows.size(); ++r) {
    for (std::size_t c = 0; c < joined.columns.size(); ++c) {
      std::vector<double> values;
      for (const View& view : views)
        add(values, cell(std::get<Matrix>(view.content), joined.rows[r], joined.columns[c]));
      joined.values[r][c] = median_or_null(values);
    }
  }
}

// Rows are the same if their first entry is.
void join(Rows& joined, std::span<const View> views) {
  for (auto& row : joined.rows) {
    for (std::size_t column = 1; column < row.size(); ++column) {
      std::vector<double> values;
      for (const View& view : views)
        for (const auto& other : std::get<Rows>(view.content).rows)
          if (other.front() == row.front() && column < other.size())
            add(values, other[column].value);
      if (!values.empty()) row[column].value = median_or_null(values);
    }
  }
}

void join(Bars&, std::span<const View>) {}  // made from results that are joined already
void join(Image&, std::span<const View>) {}

}  // namespace

View join_passes(std::span<const View> views) {
  View joined = views.back();
  if (views.size() > 1) std::visit([&](auto& content) { join(content, views); }, joined.content);
  return joined;
}

}  // namespace tabane::lab
