#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tabane/core/statistics.h"
#include "tabane/lab/page/figure.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kWidest = 32;

std::string number(const std::optional<double>& value, const Shown& shown) {
  if (!value || !std::isfinite(*value)) return "<td class=none>–</td>";
  return fmt::format("<td class=n>{}</td>", shown.number(*value));
}

std::string head(std::string_view text) { return fmt::format("<th>{}</th>", escape_html(text)); }

// Of a column of numbers.
std::string number_head(std::string_view text, std::string_view unit = "") {
  return fmt::format("<th class=n>{}{}</th>", escape_html(text),
                     unit.empty() ? "" : fmt::format(" <small>{}</small>", escape_html(unit)));
}

std::string open_table(const std::string& heads) {
  return "<table><thead><tr>" + heads + "</tr></thead><tbody>";
}
constexpr const char* kCloseTable = "</tbody></table>";

// A row for each point, where the curves share so few x that most places would stay empty.
std::string listed(const Curves& curves, const Shown& shown) {
  std::string out =
      open_table(head("") + number_head(curves.x.name) + number_head(curves.y.name, shown.unit));
  for (const Curve& curve : curves.series) {
    for (std::size_t i = 0; i < curve.x.size() && curve.role != Role::fitted; ++i)
      out += fmt::format("<tr><th>{}</th><td class=n>{:.4g}</td>{}</tr>", escape_html(curve.name),
                         curve.x[i], number(curve.y[i], shown));
  }
  return out + kCloseTable;
}

std::string html(const Curves& curves) {
  double largest = 0;
  std::size_t points = 0, series = 0;
  std::set<double> all_x;
  for (const Curve& curve : curves.series) {
    if (curve.role == Role::fitted) continue;
    all_x.insert(curve.x.begin(), curve.x.end());
    points += curve.x.size();
    ++series;
    for (const double y : curve.y)
      if (std::isfinite(y)) largest = std::max(largest, y);
  }
  const Shown shown = shown_in(largest, curves.y.unit);
  if (3 * points < all_x.size() * series) return listed(curves, shown);
  std::string heads = head(curves.x.name);
  for (const Curve& curve : curves.series)
    if (curve.role != Role::fitted) heads += number_head(curve.name, shown.unit);
  std::string out = open_table(heads);
  for (const double x : all_x) {
    out += fmt::format("<tr><th>{}</th>",
                       curves.x.unit == "B" ? show(x, "B") : fmt::format("{:.6g}", x));
    for (const Curve& curve : curves.series) {
      if (curve.role == Role::fitted) continue;
      const auto at = std::find(curve.x.begin(), curve.x.end(), x) - curve.x.begin();
      const auto i = static_cast<std::size_t>(at);
      out += number(i < curve.y.size() ? std::optional(curve.y[i]) : std::nullopt, shown);
    }
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string summarised(const Matrix& matrix, const Shown& shown) {
  std::string out =
      open_table(head("row") + number_head("lowest", shown.unit) +
                 number_head("median", shown.unit) + number_head("highest", shown.unit));
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    std::vector<double> row;
    for (const auto& x : matrix.values[i])
      if (x) row.push_back(*x);
    out += "<tr>" + head(matrix.rows[i]);
    for (double q : {0.0, 0.5, 1.0})
      out += number(row.empty() ? std::nullopt : std::optional(core::quantile(row, q)), shown);
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Matrix& matrix) {
  double largest = 0;
  for (const auto& row : matrix.values)
    for (const auto& x : row) largest = std::max(largest, x.value_or(0));
  const Shown shown = shown_in(largest, matrix.unit);
  if (matrix.columns.size() > kWidest) return summarised(matrix, shown);
  std::string heads = number_head(matrix.row_axis, shown.unit);
  for (const std::string& column : matrix.columns) heads += number_head(column);
  std::string out = open_table(heads);
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    out += "<tr>" + head(matrix.rows[i]);
    for (const auto& x : matrix.values[i]) out += number(x, shown);
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Rows& rows) {
  std::string heads;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    const bool numbers = std::any_of(rows.rows.begin(), rows.rows.end(),
                                     [&](const auto& row) { return row[i].value.has_value(); });
    heads += numbers ? number_head(rows.columns[i]) : head(rows.columns[i]);
  }
  std::string out = open_table(heads);
  for (const auto& row : rows.rows) {
    out += "<tr>";
    for (const Entry& entry : row) {
      const char* kind = entry.none() ? " class=none" : entry.value ? " class=n" : "";
      out += fmt::format("<td{}>{}</td>", kind, escape_html(text_of(entry)));
    }
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Bars& bars) {
  const bool remarks = std::any_of(bars.bars.begin(), bars.bars.end(),
                                   [](const Bar& bar) { return !bar.remark.empty(); });
  const bool targets = std::any_of(bars.bars.begin(), bars.bars.end(),
                                   [](const Bar& bar) { return bar.target.has_value(); });
  std::string out =
      open_table(head("group") + head("bar") + number_head("value") +
                 (targets ? number_head("target") : "") + (remarks ? head("remark") : ""));
  for (const Bar& bar : bars.bars) {
    const auto cell = [](const Entry& entry) {
      return fmt::format("<td class=n>{}</td>", escape_html(text_of(entry)));
    };
    Entry value(bar.value, bars.unit);
    value.interval = bar.interval;
    out += "<tr>" + head(bar.group) + head(bar.label) + cell(value);
    if (targets) out += cell(Entry(bar.target, bars.unit));
    if (remarks) out += fmt::format("<td>{}</td>", escape_html(bar.remark));
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Image& image) {
  return fmt::format("<img alt=\"{}\" src=\"data:image/png;base64,{}\">", escape_html(image.what),
                     escape_html(image.png_base64));
}

}  // namespace

std::string table_html(const View& view) {
  return std::visit([](const auto& content) { return html(content); }, view.content);
}

}  // namespace tabane::lab
