#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

std::optional<double> number_at(const RowsTable& table, std::size_t row, std::size_t column) {
  const auto* x = std::get_if<double>(&table.rows[row][column]);
  return x != nullptr && *x > 0 && std::isfinite(*x) ? std::optional(*x) : std::nullopt;
}

std::string text_at(const RowsTable& table, std::size_t row, std::size_t column) {
  const auto* text = std::get_if<std::string>(&table.rows[row][column]);
  return text != nullptr ? *text : "";
}

std::optional<std::size_t> column_named(const RowsTable& table, std::string_view name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == name) return i;
  return std::nullopt;
}

struct Ladder {
  const RowsTable& table;
  std::size_t kernel;
  std::vector<std::size_t> steps;    // the columns that are rungs, in their order
  std::optional<std::size_t> limit;  // set if every row has one: then bars are shares of it
};

std::optional<Ladder> find_ladder(const SurveyRecord& record) {
  const auto* table = find_content<RowsTable>(record, "ladder");
  if (table == nullptr || table->rows.empty()) return std::nullopt;
  const auto kernel = column_named(*table, "kernel");
  if (!kernel) return std::nullopt;
  Ladder ladder{*table, *kernel, {}, column_named(*table, "limit")};
  for (const char* step : {"plain loop", "one accumulator", "unrolled", "shipped"})
    if (const auto column = column_named(*table, step)) ladder.steps.push_back(*column);
  if (ladder.steps.empty()) return std::nullopt;
  for (std::size_t i = 0; i < table->rows.size(); ++i)
    if (ladder.limit && !number_at(*table, i, *ladder.limit)) ladder.limit.reset();
  return ladder;
}

std::string caption(const Ladder& ladder) {
  const std::size_t first = ladder.steps.front(), last = ladder.steps.back();
  double best = 0;
  std::string text;
  for (std::size_t i = 0; i < ladder.table.rows.size(); ++i) {
    const auto from = number_at(ladder.table, i, first), to = number_at(ladder.table, i, last);
    if (!from || !to || *to / *from <= best) continue;
    best = *to / *from;
    text = fmt::format("{} gains most: {} is {:.3g} times as fast as {}",
                       text_at(ladder.table, i, ladder.kernel), ladder.table.columns[last].name,
                       best, ladder.table.columns[first].name);
    if (ladder.limit)
      text += fmt::format(" and reaches {} of the limit",
                          show_percent(*to / *number_at(ladder.table, i, *ladder.limit)));
    text += ".";
  }
  if (text.empty()) text = "No kernel was measured at both ends of the ladder.";
  return "What each step of the optimisation brings, kernel by kernel. " + text;
}

}  // namespace

std::optional<Figure> ladder_figure(const SurveyRecord& record) {
  const auto ladder = find_ladder(record);
  if (!ladder) return std::nullopt;
  const RowsTable& table = ladder->table;
  double largest = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    for (std::size_t step : ladder->steps)
      largest = std::max(largest, number_at(table, i, step).value_or(0));
  if (!(largest > 0)) return std::nullopt;
  const Shown shown = shown_in(largest, table.columns[ladder->steps.front()].unit);
  Figure figure{.id = "ladder",
                .title = "The ladder of a kernel",
                .caption = caption(*ladder),
                .script = "",
                .data = "# kernel",
                .svg = "",
                .data_table_html = table_html(table)};
  for (std::size_t step : ladder->steps)
    figure.data += fmt::format(" \"{}\"", plot_label(table.columns[step].name));
  figure.data += "\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    figure.data += fmt::format("\"{}\"", plot_label(text_at(table, i, ladder->kernel), 20));
    for (std::size_t step : ladder->steps) {
      const auto x = number_at(table, i, step);
      const double factor =
          ladder->limit ? 100 / *number_at(table, i, *ladder->limit) : shown.factor;
      figure.data += x ? fmt::format(" {:.5g}", *x * factor) : " NaN";
    }
    figure.data += "\n";
  }
  figure.script = script_head(figure.id);
  figure.script += fmt::format(
      "set style data histograms\nset style histogram clustered gap 1\nset style fill solid "
      "noborder\nset boxwidth 0.9\nset grid nox\nset xtics scale 0{}\nset ylabel '{}'\n"
      "set yrange [0:*]\n",
      table.rows.size() > 6 ? " rotate by 30 right" : "",
      ladder->limit ? "share of the limit, %" : plot_label(shown.unit));
  if (ladder->limit)
    figure.script +=
        "set arrow from graph 0, first 100 to graph 1, first 100 nohead lw 1.5 lc rgb "
        "'#000000' front\n";
  std::string plots;
  for (std::size_t k = 0; k < ladder->steps.size(); ++k)
    plots += fmt::format("{} data using {}:xtic(1) lc rgb '{}' title '{}'",
                         plots.empty() ? "plot" : ", \\\n    ", k + 2, series_colour(k),
                         plot_label(table.columns[ladder->steps[k]].name));
  figure.script += plots + "\n";
  return figure;
}

}  // namespace tabane::lab
