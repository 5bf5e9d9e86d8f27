#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tabane/lab/compare/compare.h"

namespace tabane::lab {
namespace {

struct Charted {
  std::size_t side = 0;
  const View* view = nullptr;

  const Curves& curves() const { return std::get<Curves>(view->content); }
};

// Why a chart cannot share the axes of the first one; empty: it can.
std::string why_not(const View& first, const View& view) {
  if (first.version != view.version)
    return fmt::format(
        "not comparable: the way of measuring has changed: version {} of the probe, and {}",
        view.version, first.version);
  if (const std::string fixed = held_apart(first.details, view.details); !fixed.empty())
    return fixed;
  const auto &a = std::get<Curves>(first.content), &b = std::get<Curves>(view.content);
  if (a.x.unit != b.x.unit || a.y.unit != b.y.unit) return "its axes have other units";
  return "";
}

std::vector<Charted> charts_named(const std::string& name, const std::vector<Side>& sides,
                                  std::size_t baseline, std::vector<Skipped>& left_out) {
  std::vector<Charted> charts;
  std::vector<std::size_t> order = {baseline};
  for (std::size_t i = 0; i < sides.size(); ++i)
    if (i != baseline) order.push_back(i);
  for (const std::size_t i : order) {
    const View* view = sides[i].record.find_view(name);
    if (view == nullptr || !std::holds_alternative<Curves>(view->content)) continue;
    const std::string reason = charts.empty() ? "" : why_not(*charts.front().view, *view);
    if (reason.empty())
      charts.push_back({i, view});
    else
      left_out.push_back({fmt::format("{}/chart {}", sides[i].label, name), reason});
  }
  return charts;
}

// All curves: a colour per record, a shape per curve. Where shapes have names of their own, as in a
// roofline, the key tells each name once, and the first line of a record tells its colour.
View merged(const std::string& name, const std::vector<Charted>& charts,
            const std::vector<Side>& sides) {
  const Curves& first = charts.front().curves();
  Curves all{.x = first.x, .y = first.y, .series = {}};
  for (const Charted& chart : charts) {
    int shape = 0;
    bool line_in_key = false;
    // A chart of levels alone is what a report states without a curve.
    for (Mark mark : chart.curves().marks) {
      if (!chart.curves().series.empty()) break;
      mark.label = fmt::format("{}: {}", sides[chart.side].label, mark.label);
      all.marks.push_back(std::move(mark));
    }
    for (Curve curve : chart.curves().series) {
      if (curve.role == Role::fitted) continue;
      curve.name = fmt::format("{}: {}", sides[chart.side].label, curve.name);
      curve.colour = static_cast<int>(chart.side);
      if (curve.shape == -1) {
        curve.key = line_in_key ? "" : sides[chart.side].label;
        line_in_key = true;
      } else if (curve.key && &chart != &charts.front()) {
        curve.key = "";
      }
      curve.shape = curve.shape.value_or(shape++);
      all.series.push_back(std::move(curve));
    }
  }
  return {
      .name = name,
      .title = charts.front().view->title,
      .note = fmt::format("All records in the same axes, a colour for each.{}",
                          name == "roofline" ? " The roofs of a record are, from left to right, "
                                               "those of L1, L2, L3 and memory."
                                             : ""),
      .version = charts.front().view->version,
      .content = std::move(all)};
}

const Curve* curve_named(const Curves& curves, const std::string& name) {
  for (const Curve& curve : curves.series)
    if (curve.name == name && curve.role != Role::fitted) return &curve;
  return nullptr;
}

std::optional<core::Interval> interval_at(const Curve& curve, std::size_t i) {
  if (curve.low.empty() || curve.high.empty() || !(curve.low[i] > 0)) return std::nullopt;
  return core::Interval{curve.low[i], curve.high[i]};
}

// Where both have the same x: nothing is interpolated.
Curve ratio_of(const Curve& curve, const Curve& baseline) {
  Curve ratio{.name = "", .x = {}, .y = {}};
  bool bounded = true;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    for (std::size_t j = 0; j < baseline.x.size(); ++j) {
      if (std::abs(curve.x[i] - baseline.x[j]) > 1e-6 * std::abs(baseline.x[j])) continue;
      if (!(curve.y[i] > 0) || !(baseline.y[j] > 0)) continue;
      ratio.x.push_back(curve.x[i]);
      ratio.y.push_back(curve.y[i] / baseline.y[j]);
      const auto a = interval_at(curve, i), b = interval_at(baseline, j);
      bounded = bounded && a && b;
      const core::Interval interval =
          bounded ? independent_ratio_interval(curve.y[i], *a, baseline.y[j], *b)
                  : core::Interval{};
      ratio.low.push_back(interval.low);
      ratio.high.push_back(interval.high);
      break;
    }
  }
  if (!bounded) ratio.low.clear(), ratio.high.clear();
  return ratio;
}

View ratios(const std::string& name, const std::vector<Charted>& charts,
            const std::vector<Side>& sides) {
  const Charted& baseline = charts.front();
  const std::string& label = sides[baseline.side].label;
  Curves all{.x = baseline.curves().x, .y = {"ratio to " + label, "ratio", true}, .series = {}};
  all.marks = {{1, label, false}};
  for (const Charted& chart : charts) {
    if (chart.side == baseline.side) continue;
    int shape = 0;
    for (const Curve& curve : chart.curves().series) {
      const Curve* other = curve_named(baseline.curves(), curve.name);
      if (other == nullptr || curve.role == Role::fitted || curve.shape == -1) continue;
      Curve ratio = ratio_of(curve, *other);
      if (ratio.x.size() < 2) continue;
      ratio.name = fmt::format("{}: {}", sides[chart.side].label, curve.name);
      ratio.colour = static_cast<int>(chart.side);
      ratio.shape = shape++;
      all.series.push_back(std::move(ratio));
    }
  }
  return {.name = name + ".ratio",
          .title = fmt::format("{}: ratio to {}", baseline.view->title, label),
          .note = "Only where both were measured at the same place of the axis.",
          .version = baseline.view->version,
          .content = std::move(all)};
}

}  // namespace

void add_merged_charts(Record& record, const std::vector<Side>& sides, std::size_t baseline) {
  std::set<std::string> seen;
  for (const Side& side : sides) {
    for (const View& view : side.record.views) {
      if (!std::holds_alternative<Curves>(view.content) || !seen.insert(view.name).second) continue;
      const auto charts = charts_named(view.name, sides, baseline, record.skipped);
      if (charts.size() < 2) continue;
      record.views.push_back(merged(view.name, charts, sides));
      if (charts.front().side != baseline) continue;
      View ratio = ratios(view.name, charts, sides);
      if (!std::get<Curves>(ratio.content).series.empty()) record.views.push_back(std::move(ratio));
    }
  }
}

}  // namespace tabane::lab
