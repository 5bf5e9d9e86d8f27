// The tables of the study ap1000 that stand beside the report's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/core/units.h"
#include "tabane/lab/studies/ap1000_data.h"

namespace tabane::lab::ap1000 {
namespace {

constexpr const char* kNone = "–";

std::string time_of(const Point* point) {
  return point == nullptr ? kNone : core::format_seconds(point->median());
}

std::string with_interval(const Point* point) {
  if (point == nullptr) return kNone;
  const core::Interval interval = core::median_interval(point->seconds);
  return fmt::format("{} [{}, {}]", core::format_seconds(point->median()),
                     core::format_seconds(interval.low), core::format_seconds(interval.high));
}

std::string ratio_of(const Point* a, const Point* b) {
  if (a == nullptr || b == nullptr) return kNone;
  const auto ratio = ratio_in_turn(*a, *b);
  if (!ratio) return kNone;
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio->value, ratio->interval.low,
                     ratio->interval.high);
}

std::string rate_of(const Point* point) {
  if (point == nullptr) return kNone;
  return core::format_value(static_cast<double>(point->bytes) / point->median(), "B/s");
}

std::string about_pus(const Findings& findings) {
  if (findings.pus == 0) return "";
  if (findings.pus == 1) return " There is one PU here, so that all ranks take turns.";
  return fmt::format(" More ranks than the {} PUs here take turns.", findings.pus);
}

// ---- ping-pong ----

StudyTable ping_pong_table(const Findings& findings) {
  StudyTable table{
      fmt::format("Half a round trip between two ranks, over {}", findings.transport), "", {}};
  table.rows = {
      {"message", "recv (copy)", "recv_view (in place)", "recv / recv_view", "recv bandwidth"}};
  for (const Point* recv : findings.over_bytes("pingpong", "recv", 2)) {
    const double power = std::log2(static_cast<double>(recv->bytes));
    if (power != std::floor(power) || static_cast<int>(power) % 3 != 0) continue;
    const Point* view = findings.find("pingpong", "view", 2, recv->bytes);
    table.rows.push_back({core::format_bytes(recv->bytes), with_interval(recv), with_interval(view),
                          ratio_of(recv, view), rate_of(recv)});
  }
  table.remark =
      "Median and its 95 % interval; ratios are of samples taken in turn. recv_view gives the "
      "message where it lies and does not read it, as the report's crecv.";
  return table;
}

std::string interval_of(double value, core::Interval interval, const char* unit) {
  const auto shown = [&](double v) {
    if (!std::isfinite(v)) return std::string("∞");
    if (unit == std::string_view("B"))
      return core::format_bytes(static_cast<std::uint64_t>(std::max(0.0, v)));
    return unit == std::string_view("s") ? core::format_seconds(v) : core::format_value(v, unit);
  };
  return fmt::format("{} [{}, {}]", shown(value), shown(interval.low), shown(interval.high));
}

// A perturbed size as the power of two that it is beside.
std::string size_near(double bytes) {
  const double power = std::exp2(std::round(std::log2(bytes)));
  const bool perturbed = bytes > 32 && std::abs(bytes - power) <= 3;
  return core::format_bytes(static_cast<std::uint64_t>(perturbed ? power : bytes));
}

std::vector<std::string> segment_row(const std::string& way, const FitSegment& segment) {
  const core::LineFit& line = segment.line;
  const bool flat = !(line.slope > 0);
  return {
      way,
      fmt::format("{} … {}", size_near(segment.from), size_near(segment.to)),
      interval_of(line.t0(), line.intercept_interval, "s"),
      flat ? kNone : interval_of(line.r_inf(), segment.r_inf_interval(), "B/s"),
      flat || !(line.t0() > 0) ? kNone : interval_of(line.n_half(), segment.n_half_interval(), "B"),
      fmt::format("{:.0f} %", 100 * line.worst_relative_residual)};
}

// a µs + b µs a byte, as the report gives it.
std::vector<std::string> report_row(const char* way, double b, double a) {
  return {std::string("report: ") + way,
          fmt::format("{:.2f} x + {:.0f} µs", b, a),
          core::format_seconds(a * 1e-6),
          core::format_value(1e6 / b, "B/s"),
          core::format_bytes(static_cast<std::uint64_t>(a / b)),
          kNone};
}

StudyTable fit_table(const Findings& findings) {
  StudyTable table{"The lines through them: t = t0 + n / r_inf, n_half = t0 r_inf", "", {}};
  table.rows = {{"receive", "sizes", "t0", "r_inf", "n_half", "worst residual"}};
  for (const std::string& way : findings.ways("pingpong")) {
    for (const FitSegment& segment : fit(findings.over_bytes("pingpong", way, 2), 4))
      table.rows.push_back(segment_row(title_of_way(way), segment));
  }
  if (table.rows.size() == 1) return table;
  table.rows.push_back(report_row("copy, distance 1", 0.18, 19));
  table.rows.push_back(report_row("copy, distance 24", 0.18, 24));
  table.rows.push_back(report_row("in place, distance 1", 0.05, 10));
  table.rows.push_back(report_row("conventional interface", 0.04, 31));
  table.remark =
      "The borders are where separate lines describe the medians better (Bayes' information "
      "criterion): there the protocol changes, or the cache that holds the message. A t0 below 0 "
      "means that within these sizes the rate still falls. Relative residuals; 95 % intervals by "
      "resampling the points. The report is of 1992.";
  return table;
}

// ---- collectives ----

// "0.000110 x + 2.8" with x in bytes, in µs as the report writes it.
std::string formula(const std::vector<const Point*>& points) {
  const auto segments = fit(points, 1);
  if (segments.empty()) return kNone;
  const core::LineFit& line = segments[0].line;
  return fmt::format("{:.6f} x + {:.3g}", line.slope * 1e6, line.t0() * 1e6);
}

std::string broadcast_in_report(const std::string& way, int ranks) {
  const bool tree = way == "binomial";
  if (ranks == 8) return tree ? "0.20 x + 27" : "0.11 x + 2.8";
  if (ranks == 16) return tree ? "0.27 x + 36" : "0.13 x + 2.7";
  return kNone;
}

StudyTable broadcast_table(const Findings& findings) {
  StudyTable table{"Broadcast along a row", "", {}};
  table.rows = {{"ranks", "way", "8 B", "4 KiB", "64 KiB", "here, µs", "report, µs"}};
  for (const int ranks : findings.ranks("broadcast")) {
    for (const std::string& way : findings.ways("broadcast")) {
      const auto points = findings.over_bytes("broadcast", way, ranks);
      if (points.empty()) continue;
      const auto at = [&](std::uint64_t bytes) {
        return time_of(findings.find("broadcast", way, ranks, bytes));
      };
      table.rows.push_back({std::to_string(ranks), title_of_way(way), at(8), at(4096), at(65536),
                            formula(points), broadcast_in_report(way, ranks)});
    }
  }
  table.remark =
      "The root goes round the row from call to call. x: bytes. The report: in the network against "
      "a binary tree of messages." +
      about_pus(findings);
  return table;
}

std::string shape_of(int ranks) {
  const comm::GridShape shape = comm::fit_grid(ranks);
  return fmt::format("{} x {}", shape.rows, shape.columns);
}

StudyTable global_table(const Findings& findings) {
  StudyTable table{"Global functions: one value, every rank gets the result", "", {}};
  table.rows = {{"grid", "sum: row", "column", "all", "all, tree", "max with index: row", "column",
                 "all", "all, tree"}};
  for (const int ranks : findings.ranks("sum")) {
    std::vector<std::string> row = {shape_of(ranks)};
    for (const char* part : {"sum", "max_loc"}) {
      for (const char* group : {"row", "column", "all"})
        row.push_back(time_of(findings.find(part, "chosen", ranks, 0, group)));
      row.push_back(time_of(findings.find(part, "tree", ranks, 0, "all")));
    }
    table.rows.push_back(std::move(row));
  }
  if (table.rows.size() == 1) return table;
  const auto report = [&](const char* grid, const char* sum, const char* all_sum, const char* max,
                          const char* all_max) {
    table.rows.push_back(
        {std::string("report: ") + grid, sum, sum, kNone, all_sum, max, max, kNone, all_max});
  };
  report("4 x 4", "23 µs", "44 µs", "30 µs", "58 µs");
  report("8 x 8", "30 µs", "59 µs", "40 µs", "78 µs");
  report("16 x 16", "39 µs", "79 µs", "52 µs", "104 µs");
  table.remark =
      "All rows, or all columns, at once. Tree: of messages, as the report's 16-byte ones. A row "
      "or "
      "column of one rank costs a call.";
  return table;
}

// The fewest elements from which on one way is surely faster than element by element.
std::optional<std::uint64_t> crossing(const Findings& findings, const std::string& way, int ranks) {
  std::optional<std::uint64_t> from;
  for (const Point* elements : findings.over_bytes("vector", "elements", ranks)) {
    const Point* vector = findings.find("vector", way, ranks, elements->bytes);
    if (vector == nullptr) continue;
    const auto ratio = ratio_in_turn(*elements, *vector);
    if (!ratio || ratio->interval.low <= 1)
      from.reset();
    else if (!from)
      from = elements->bytes / sizeof(double);
  }
  return from;
}

std::string crossings(const Findings& findings, const std::string& way) {
  std::string text;
  for (const int ranks : findings.ranks("vector")) {
    const auto from = crossing(findings, way, ranks);
    text += fmt::format("{}{} with {} ranks", text.empty() ? "" : ", ",
                        from ? std::to_string(*from) : "no number", ranks);
  }
  return text;
}

StudyTable vector_table(const Findings& findings) {
  StudyTable table{"Sum of a vector: element by element against one reduction", "", {}};
  table.rows = {{"ranks", "elements", "element by element", "one vector",
                 "one vector, tree of messages", "elements / vector"}};
  for (const int ranks : findings.ranks("vector")) {
    for (const Point* elements : findings.over_bytes("vector", "elements", ranks)) {
      const std::uint64_t n = elements->bytes / sizeof(double);
      if (n > 4 && n != 16 && n != 64) continue;
      const Point* vector = findings.find("vector", "vector", ranks, elements->bytes);
      table.rows.push_back({std::to_string(ranks), std::to_string(n), time_of(elements),
                            time_of(vector),
                            time_of(findings.find("vector", "vector tree", ranks, elements->bytes)),
                            ratio_of(elements, vector)});
    }
  }
  if (table.rows.size() == 1) return table;
  table.remark = fmt::format(
      "One vector wins from so many elements on: {}; by a tree of messages: {}. The report: from "
      "about 4 elements on one tree of messages wins over its scalar global function.",
      crossings(findings, "vector"), crossings(findings, "vector tree"));
  return table;
}

std::string gathering_in_report(const std::string& part, const std::string& way) {
  if (part == "scatter") return way == "fine" ? "0.043 x + 4900" : kNone;
  if (way == "fine") return "0.027 x + 3800";
  if (way == "block") return "0.041 x + 4200";
  return "64 cells: 0.047 x + 130 000";
}

StudyTable gathering_table(const Findings& findings) {
  StudyTable table{"Gather to and scatter from one rank", "", {}};
  table.rows = {{"ranks", "operation", "way", "64 B a rank", "8 KiB a rank", "64 KiB a rank",
                 "here, µs", "report, µs"}};
  for (const int ranks : findings.ranks("gather")) {
    for (const std::string part : {"gather", "scatter"}) {
      for (const std::string& way : findings.ways(part)) {
        const auto points = findings.over_bytes(part, way, ranks);
        if (points.empty()) continue;
        const auto at = [&](std::uint64_t bytes) {
          return time_of(findings.find(part, way, ranks, bytes * static_cast<unsigned>(ranks)));
        };
        table.rows.push_back({std::to_string(ranks), part, title_of_way(way), at(64), at(8192),
                              at(65536), formula(points), gathering_in_report(part, way)});
      }
    }
  }
  table.remark =
      "x: bytes of the whole array, of 4-byte elements. Fine: rank r has elements r, r + p, …; "
      "block: one piece each; polling: the root asks one rank after the other. The report: the "
      "host and its cells, one operation whatever their number.";
  return table;
}

std::string log_formula(const Findings& findings, const std::string& way) {
  const auto line = fit_log(findings, "barrier", way);
  if (!line) return "";
  return fmt::format(" {}: {:.3g} log2 p + {:.3g} µs.", title_of_way(way), line->per_doubling * 1e6,
                     line->constant * 1e6);
}

StudyTable barrier_table(const Findings& findings) {
  StudyTable table{"Barrier", "", {}};
  const std::vector<std::string> ways = findings.ways("barrier");
  table.rows = {{"ranks"}};
  for (const std::string& way : ways) table.rows[0].push_back(title_of_way(way));
  const bool compares = ways.size() > 1;
  if (compares) table.rows[0].push_back("messages / " + ways[0]);
  table.rows[0].emplace_back("report: messages");
  for (const int ranks : findings.ranks("barrier")) {
    std::vector<std::string> row = {std::to_string(ranks)};
    for (const std::string& way : ways)
      row.push_back(with_interval(findings.find("barrier", way, ranks)));
    if (compares)
      row.push_back(ratio_of(findings.find("barrier", "messages", ranks),
                             findings.find("barrier", ways[0], ranks)));
    row.push_back(core::format_seconds((33 * std::log2(ranks) + 6.8) * 1e-6));
    table.rows.push_back(std::move(row));
  }
  table.remark = fmt::format(
      "The report: 10.6 µs on its own network, whatever the number of cells; 33 log p + 6.8 µs by "
      "messages.{}{}",
      log_formula(findings, "messages"), about_pus(findings));
  return table;
}

}  // namespace

void add_tables(Study& study, const Findings& findings) {
  const auto add = [&](StudyTable table) {
    if (table.rows.size() > 1) study.tables.push_back(std::move(table));
  };
  add(ping_pong_table(findings));
  add(fit_table(findings));
  add(broadcast_table(findings));
  add(global_table(findings));
  add(vector_table(findings));
  add(gathering_table(findings));
  add(barrier_table(findings));
}

}  // namespace tabane::lab::ap1000
