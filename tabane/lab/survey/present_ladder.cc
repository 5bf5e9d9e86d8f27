#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

// A row of the table: a kernel, its rungs, the limit.
struct Ladder {
  const Rows& table;
  std::vector<std::size_t> rungs;    // columns, in their order
  std::optional<std::size_t> limit;  // set if every row has one: then bars are shares of it

  std::optional<double> number(const std::vector<Entry>& row, std::size_t column) const {
    const auto& x = row[column].value;
    return x && *x > 0 && std::isfinite(*x) ? x : std::nullopt;
  }
};

std::optional<Ladder> find_ladder(const Record& record) {
  const auto* table = find_content<Rows>(record, "ladder");
  if (table == nullptr || table->rows.empty() || table->columns.front() != "kernel")
    return std::nullopt;
  Ladder ladder{*table, {}, {}};
  for (std::size_t i = 1; i < table->columns.size(); ++i) {
    if (table->columns[i] == "limit")
      ladder.limit = i;
    else
      ladder.rungs.push_back(i);
  }
  if (ladder.rungs.empty()) return std::nullopt;
  for (const auto& row : table->rows)
    if (ladder.limit && !ladder.number(row, *ladder.limit)) ladder.limit.reset();
  return ladder;
}

std::string note(const Ladder& ladder) {
  const std::size_t first = ladder.rungs.front(), last = ladder.rungs.back();
  double best = 0;
  std::string text;
  for (const auto& row : ladder.table.rows) {
    const auto from = ladder.number(row, first), to = ladder.number(row, last);
    if (!from || !to || *to / *from <= best) continue;
    best = *to / *from;
    text = fmt::format("{} gains most: {} is {:.3g} times as fast as {}", row.front().text,
                       ladder.table.columns[last], best, ladder.table.columns[first]);
    if (ladder.limit)
      text += fmt::format(" and reaches {} of the limit",
                          show_percent(*to / *ladder.number(row, *ladder.limit)));
    text += ".";
  }
  if (text.empty()) text = "No kernel was measured at both ends of the ladder.";
  return fmt::format("What each step of the optimisation brings, kernel by kernel{}. {}",
                     ladder.limit ? ", as a share of the kernel's limit" : "", text);
}

}  // namespace

std::optional<View> present_ladder(const Record& record) {
  const auto ladder = find_ladder(record);
  if (!ladder) return std::nullopt;
  Bars bars{.unit = ladder->limit ? "share" : "FLOP/s", .bars = {}, .clustered = true};
  if (ladder->limit) bars.reference = 1;
  for (const auto& row : ladder->table.rows) {
    for (const std::size_t rung : ladder->rungs) {
      Bar bar{row.front().text, ladder->table.columns[rung], ladder->number(row, rung)};
      if (bar.value && ladder->limit) {
        bar.remark = show(*bar.value, row[rung].unit);
        *bar.value /= *ladder->number(row, *ladder->limit);
      }
      bars.bars.push_back(std::move(bar));
    }
  }
  const bool any = std::any_of(bars.bars.begin(), bars.bars.end(),
                               [](const Bar& bar) { return bar.value.has_value(); });
  if (!any) return std::nullopt;
  return View{.name = "ladder.chart",
              .title = "The ladder of a kernel",
              .note = note(*ladder),
              .content = std::move(bars)};
}

}  // namespace tabane::lab
