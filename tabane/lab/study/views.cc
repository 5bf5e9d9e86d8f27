#include "tabane/lab/study/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "tabane/lab/record/text.h"

namespace tabane::lab {

std::vector<Factors> combinations(const Points& points, const std::vector<std::string>& names,
                                  const Factors& wanted) {
  std::vector<Factors> all = {wanted};
  for (const std::string& name : names) {
    std::vector<Factors> longer;
    for (const Factors& one : all)
      for (const Level& level : points.levels(name, one))
        longer.push_back(one.with({{name, level}}));
    all = std::move(longer);
  }
  return all;
}

std::vector<Factors> only(std::vector<Factors> rows, std::string_view factor,
                          const std::function<bool(double)>& fits) {
  std::erase_if(rows, [&](const Factors& row) { return !fits(row.number(factor)); });
  return rows;
}

std::vector<Factors> having(std::vector<Factors> rows, const Points& points,
                            const std::vector<Pick>& picks) {
  std::erase_if(rows, [&](const Factors& row) {
    return std::ranges::any_of(picks, [&](const Pick& pick) { return !pick(points, row); });
  });
  return rows;
}

std::string name_part(std::string word) {
  std::ranges::replace(word, ' ', '_');
  return word;
}

namespace {

// "recv", "vector_tree", "ranks4"
std::string part_of(const Factor& factor) {
  return name_part(factor.level.is_number() ? factor.name + factor.level.text()
                                            : factor.level.word());
}

std::optional<core::Interval> interval_of(const core::Ratio& ratio) {
  if (ratio.pairs < core::kFewestForInterval) return std::nullopt;
  return ratio.interval;
}

}  // namespace

std::string family(const Record& record) {
  std::string text = record.name;
  std::ranges::replace(text, '-', '_');
  return text;
}

Result& add_result(Record& record, const std::string& name, std::string what, const Entry& figure,
                   Better better) {
  Result result{.name = fmt::format("{}.{}", family(record), name),
                .what = std::move(what),
                .unit = figure.unit,
                .better = better};
  if (figure.value && std::isfinite(*figure.value)) result.value = figure.value;
  const auto& interval = figure.interval;
  if (interval && std::isfinite(interval->low) && std::isfinite(interval->high))
    result.interval = interval;
  return record.results.emplace_back(std::move(result));
}

void add_results(Record& record, const Points& points,
                 const std::function<std::string(const Point&)>& what) {
  for (const Point& point : points) {
    if (!point.measured()) continue;
    Result result{.name = family(record),
                  .what = what(point),
                  .unit = "s",
                  .better = Better::lower,
                  .factors = point.factors,
                  .beside = point.beside};
    for (const Factor& factor : point.factors) result.name += "." + part_of(factor);
    set_samples(result, point.samples);
    record.results.push_back(std::move(result));
  }
}

std::vector<bool> unusually_high(const std::vector<double>& values) {
  std::vector<double> known = values;
  std::erase_if(known, [](double v) { return std::isnan(v); });
  double from = std::numeric_limits<double>::infinity();
  if (!known.empty()) {
    const double middle = core::median(known);
    for (const std::size_t i : core::outliers_far_fence(known))
      if (known[i] > middle) from = std::min(from, known[i]);
  }
  std::vector<bool> high;
  for (const double v : values) high.push_back(v >= from);
  return high;
}

std::optional<double> median_beside(const Point& point, std::string_view what) {
  const auto found = point.beside.find(what);
  if (found == point.beside.end() || found->second.empty()) return {};
  return core::median(found->second);
}

Entry median_entry(const Point* point, bool with_interval) {
  if (point == nullptr || !point->measured()) return {};
  if (!with_interval) return {point->median(), "s"};
  return {point->median(), "s", point->interval()};
}

Entry ratio_entry(const Point* a, const Point* b) {
  const auto ratio = ratio_in_turn(a, b);
  return ratio ? Entry(ratio->value, "ratio", interval_of(*ratio)) : Entry();
}

Entry count_entry(double number) { return {number, "1"}; }

Entry published_entry(const Record& published, const std::string& result) {
  const Result* found = published.find(result);
  if (found == nullptr) return {};
  return found->value ? Entry(found->value, found->unit)
                      : Entry(found->details.value(detail::kRemark, std::string()));
}

void add_table(Record& record, std::string title, Rows rows, std::string note) {
  if (rows.rows.empty()) return;
  const auto number = 1 + std::ranges::count_if(record.views, [](const View& v) {
                        return std::holds_alternative<Rows>(v.content);
                      });
  record.views.push_back({.name = fmt::format("{}.table.{}", record.name, number),
                          .title = std::move(title),
                          .note = std::move(note),
                          .content = std::move(rows)});
}

Pick::Pick(Factors of)
    : find_([of = std::move(of)](const Points& points, const Factors& row) {
        return points.find(row.with(of));
      }) {}

Cell level_of(std::string factor, std::string unit) {
  return [factor = std::move(factor), unit = std::move(unit)](const Points&, const Factors& row) {
    const double number = row.number(factor);
    return unit == "1" ? count_entry(number) : Entry(show(number, unit));
  };
}

Cell word_of(std::string factor, std::string (*title)(const std::string& word)) {
  return [factor = std::move(factor), title](const Points&, const Factors& row) {
    const std::string& word = row.word(factor);
    return Entry(title == nullptr ? word : title(word));
  };
}

Cell shown_of(Pick pick, std::function<Entry(const Point&)> show) {
  return
      [pick = std::move(pick), show = std::move(show)](const Points& points, const Factors& row) {
        const Point* point = pick(points, row);
        return point == nullptr ? Entry() : show(*point);
      };
}

Cell time_of(Pick pick, bool with_interval) {
  return shown_of(std::move(pick), [with_interval](const Point& point) {
    return median_entry(&point, with_interval);
  });
}

Cell rate_of(Pick pick, std::string unit, std::function<double(const Point&)> amount,
             bool with_interval) {
  return shown_of(std::move(pick), [unit = std::move(unit), amount = std::move(amount),
                                    with_interval](const Point& point) {
    const double work = amount(point);
    Entry rate(work / point.median(), unit);
    const auto times = with_interval ? point.interval() : std::nullopt;
    if (times) rate.interval = core::Interval{work / times->high, work / times->low};
    return rate;
  });
}

Cell ratio_of(Pick a, Pick b, bool with_interval) {
  return [a = std::move(a), b = std::move(b), with_interval](const Points& points,
                                                             const Factors& row) {
    Entry ratio = ratio_entry(a(points, row), b(points, row));
    if (!with_interval) ratio.interval.reset();
    return ratio;
  };
}

Cell medians_ratio_of(Pick a, Pick b) {
  return [a = std::move(a), b = std::move(b)](const Points& points, const Factors& row) {
    const Point *one = a(points, row), *other = b(points, row);
    if (one == nullptr || other == nullptr) return Entry();
    return Entry(one->median() / other->median(), "ratio");
  };
}

Cell published_of(const Record& report, std::string name) {
  return [&report, name = std::move(name)](const Points&, const Factors& row) {
    std::string full = family(report) + "." + name;
    for (const Factor& factor : row) {
      const std::string braces = "{" + factor.name + "}";
      if (const std::size_t at = full.find(braces); at != std::string::npos)
        full.replace(at, braces.size(), factor.level.text());
    }
    return published_entry(report, full);
  };
}

Rows rows_of(const std::vector<Column>& columns, const Points& points,
             const std::vector<Factors>& rows) {
  std::vector<std::string> heads;
  for (const Column& column : columns) heads.push_back(column.head);
  return rows_of(heads, rows, [&](const Factors& row) {
    std::vector<Entry> entries;
    for (const Column& column : columns) {
      entries.push_back(column.cell(points, row));
      if (column.needed && entries.back().none()) return std::vector<Entry>();
    }
    return entries;
  });
}

void add_place(Curve& curve, double x, double y, std::optional<core::Interval> interval) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  curve.x.push_back(x);
  curve.y.push_back(y);
  curve.low.push_back(interval ? interval->low : kNone);
  curve.high.push_back(interval ? interval->high : kNone);
}

Curve curve_over(const std::string& name, const PointList& points, std::string_view factor,
                 double x_scale) {
  Curve curve{.name = name};
  for (const Point* point : points)
    add_place(curve, point->number(factor) * x_scale, point->median(), point->interval());
  return curve;
}

Curve curve_of(const std::string& name, const Cell& cell, const Points& points,
               const std::vector<Factors>& rows, std::string_view factor) {
  Curve curve{.name = name};
  for (const Factors& row : rows) {
    const Entry shown = cell(points, row);
    if (shown.value) add_place(curve, row.number(factor), *shown.value, shown.interval);
  }
  return curve;
}

void add_curve(Curves& curves, Curve curve) {
  if (curve.x.empty()) return;
  const bool bounded = std::ranges::any_of(curve.low, [](double v) { return !std::isnan(v); });
  if (!bounded) curve.low.clear(), curve.high.clear();
  curves.series.push_back(std::move(curve));
}

std::vector<Line> lines_by(const Points& points, const std::string& factor, const Factors& wanted,
                           std::string (*title)(const std::string& word)) {
  std::vector<Line> lines;
  for (const std::string& word : points.words(factor, wanted))
    lines.push_back({title(word), wanted.with({{factor, word}})});
  return lines;
}

Curves times_over(const Points& points, std::string_view factor, const std::vector<Line>& lines,
                  std::string axis, std::string unit, double x_scale) {
  Curves curves{{std::move(axis), std::move(unit), true}, {"time", "s", true}, {}};
  for (const Line& line : lines)
    add_curve(curves, curve_over(line.name, points.where(line.factors, factor), factor, x_scale));
  return curves;
}

Curves as_rate(Curves curves, Axis y) {
  curves.y = std::move(y);
  for (Curve& curve : curves.series) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      curve.y[i] = curve.x[i] / curve.y[i];
      if (curve.low.empty()) continue;
      const double high = curve.x[i] / curve.low[i];
      curve.low[i] = curve.x[i] / curve.high[i];
      curve.high[i] = high;
    }
  }
  return curves;
}

Matrix matrix_of(const Cell& cell, const Points& points, const std::vector<Factors>& rows,
                 const std::vector<Factors>& columns) {
  Matrix matrix;
  for (const Factors& row : rows) {
    matrix.rows.push_back(std::prev(row.end())->level.text());
    auto& values = matrix.values.emplace_back();
    for (const Factors& column : columns) values.push_back(cell(points, row.with(column)).value);
  }
  for (const Factors& column : columns)
    matrix.columns.push_back(std::prev(column.end())->level.text());
  return matrix;
}

void add_chart(Record& record, const std::string& name, std::string title, std::string note,
               Content content) {
  const auto* curves = std::get_if<Curves>(&content);
  if (curves != nullptr && curves->series.empty()) return;
  record.views.push_back({.name = fmt::format("{}.{}", family(record), name),
                          .title = std::move(title),
                          .note = std::move(note),
                          .content = std::move(content)});
  // A title names what all of a chart has in common: "Gather, 8 ranks (shm)".
  View& view = record.views.back();
  view.details[detail::kHeldFixed] = view.title;
}

}  // namespace tabane::lab
