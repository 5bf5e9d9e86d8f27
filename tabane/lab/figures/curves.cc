#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

struct Style {
  bool log_x = true;  // binary sizes on a logarithmic axis; otherwise counts
  bool log_y = true;
  std::string x_label, y_label;  // y: without its unit
};

// One block per series: x, y, low, high in the unit that the axis shows.
std::string curve_data(const CurvesTable& table, const Shown& shown) {
  std::string out;
  for (const auto& curve : table.series) {
    if (curve.x.empty()) continue;  // gnuplot would not count an empty block
    out += fmt::format("# {}: x, y, low, high in {}\n", plot_label(curve.name),
                       plot_label(shown.unit));
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      const double y = curve.y[i];
      const double low = curve.low.empty() ? y : curve.low[i];
      const double high = curve.high.empty() ? y : curve.high[i];
      // NaN is gnuplot's word for a point that is not there.
      const auto text = [&](double v) {
        return std::isfinite(v) ? fmt::format("{:.6g}", v * shown.factor) : std::string("NaN");
      };
      out += fmt::format("{:.10g} {} {} {}\n", curve.x[i], text(y), text(low), text(high));
    }
    out += "\n\n";
  }
  return out;
}

std::string curve_plots(const CurvesTable& table) {
  static constexpr std::array<int, 6> kPoints = {7, 5, 9, 13, 11, 6};
  std::string out;
  for (std::size_t i = 0; i < table.series.size(); ++i) {
    const auto& curve = table.series[i];
    const auto colour = series_colour(i);
    if (curve.x.empty()) continue;
    out += out.empty() ? "plot " : ", \\\n     ";
    if (!curve.low.empty() && !curve.high.empty())
      out += fmt::format(
          "data index {0} using 1:3:4 with filledcurves lc rgb '{1}' fs transparent solid 0.18 "
          "noborder notitle, \\\n     ",
          i, colour);
    out += fmt::format(
        "data index {} using 1:2 with linespoints lw 2 pt {} ps 0.55 lc rgb '{}' title '{}'", i,
        kPoints[i % kPoints.size()], colour, plot_label(curve.name));
  }
  return out + "\n";
}

PositiveRange positive_range(const CurvesTable& table, bool of_x) {
  PositiveRange range;
  for (const auto& curve : table.series) range.add(of_x ? curve.x : curve.y);
  return range;
}

bool drawable(const CurvesTable& table) {
  const PositiveRange x = positive_range(table, true), y = positive_range(table, false);
  return x.low < x.high && y.low <= y.high;
}

std::string axes(const CurvesTable& table, const Shown& shown, const Style& style) {
  const PositiveRange x = positive_range(table, true), y = positive_range(table, false);
  std::string out =
      fmt::format("set xlabel '{}'\nset ylabel '{}'\n", plot_label(style.x_label),
                  fmt::format("{}, {}", plot_label(style.y_label), plot_label(shown.unit)));
  if (style.log_x) {
    out += byte_ticks(x.low, x.high);
  } else {
    out += fmt::format("set xrange [{:.6g}:{:.6g}]\n", std::min(x.low, 1.0), x.high);
    if (x.high <= 16) out += "set xtics 1\n";
  }
  const double low = y.low * shown.factor, high = y.high * shown.factor;
  if (style.log_y) {
    out += decade_ticks("y", low / 1.4, high * 2.2);
  } else {
    out += fmt::format("set yrange [0:{:.6g}]\n", high * 1.15);
  }
  return out;
}

Figure curve_figure(std::string id, std::string title, const CurvesTable& table, const Style& style,
                    const std::vector<std::pair<double, std::string>>& marks) {
  const Shown shown = shown_in(largest_y(table), table.y.unit);
  Figure figure{.id = std::move(id),
                .title = std::move(title),
                .caption = "",
                .script = "",
                .data = curve_data(table, shown),
                .svg = "",
                .data_table_html = table_html(table)};
  figure.script = script_head(figure.id) + axes(table, shown, style) + vertical_marks(marks) +
                  curve_plots(table);
  return figure;
}

std::vector<std::pair<double, std::string>> cache_marks(const SurveyRecord& record,
                                                        const CurvesTable& table) {
  const PositiveRange x = positive_range(table, true);
  std::vector<std::pair<double, std::string>> marks;
  for (const auto& cache : cache_sizes(record))
    if (cache.bytes > x.low && cache.bytes < x.high)
      marks.emplace_back(cache.bytes, fmt::format("L{}", cache.level));
  return marks;
}

std::string cache_sentence(const SurveyRecord& record) {
  std::vector<std::string> parts;
  for (const auto& cache : cache_sizes(record))
    parts.push_back(fmt::format("L{} {}", cache.level, show(cache.bytes, "B")));
  return parts.empty() ? "" : fmt::format(" The dashed lines are the caches: {}.", join(parts));
}

struct Reading {
  std::string where;  // "in L2", "beyond the caches"
  double x, y;
};

// What the curve says of each level: the largest size that takes at most 3/4 of a cache and does
// not fit into the one before, and the largest size of all.
std::vector<Reading> read_levels(const SurveyRecord& record, const Curve& curve) {
  std::vector<Reading> readings;
  double before = 0;
  for (const auto& cache : cache_sizes(record)) {
    std::optional<Reading> best;
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      if (curve.x[i] > before && curve.x[i] <= 0.75 * cache.bytes && std::isfinite(curve.y[i]) &&
          (!best || curve.x[i] > best->x))
        best = Reading{fmt::format("in L{}", cache.level), curve.x[i], curve.y[i]};
    if (best) readings.push_back(*best);
    before = cache.bytes;
  }
  const auto last = std::max_element(curve.x.begin(), curve.x.end()) - curve.x.begin();
  const auto i = static_cast<std::size_t>(last);
  if (std::isfinite(curve.y[i]) && curve.x[i] > 2 * before)
    readings.push_back(
        {before > 0 ? "beyond the caches" : "at " + show(curve.x[i], "B"), curve.x[i], curve.y[i]});
  return readings;
}

std::string levels_sentence(const std::vector<Reading>& readings, std::string_view unit) {
  std::vector<std::string> parts;
  for (const auto& r : readings) parts.push_back(fmt::format("{} {}", show(r.y, unit), r.where));
  return join(parts);
}

// The curve of that name, else the first that has points.
const Curve& first_curve(const CurvesTable& table, std::string_view wanted) {
  if (const Curve* curve = find_curve(table, wanted)) return *curve;
  return *std::find_if(table.series.begin(), table.series.end(),
                       [](const Curve& c) { return !c.x.empty(); });
}

const CurvesTable* find_drawable(const SurveyRecord& record, std::string_view name) {
  const auto* table = find_content<CurvesTable>(record, name);
  return table != nullptr && drawable(*table) ? table : nullptr;
}

// Smallest x whose y reaches 95 % of the curve's highest.
Reading saturation(const Curve& curve) {
  double highest = 0;
  for (double y : curve.y)
    if (std::isfinite(y)) highest = std::max(highest, y);
  Reading found{"", std::numeric_limits<double>::infinity(), 0};
  for (std::size_t i = 0; i < curve.x.size(); ++i)
    if (curve.y[i] >= 0.95 * highest && curve.x[i] < found.x) found = {"", curve.x[i], curve.y[i]};
  return found;
}

std::string cores(double n) { return fmt::format("{:.0f} {}", n, n == 1 ? "core" : "cores"); }

}  // namespace

std::optional<Figure> memory_latency_figure(const SurveyRecord& record) {
  const auto* table = find_drawable(record, "memory.latency");
  if (table == nullptr) return std::nullopt;
  Figure figure = curve_figure("memory_latency", "Latency over size", *table,
                               {true, true, "working set", "time of one dependent load"},
                               cache_marks(record, *table));
  const Curve& small = first_curve(*table, "");
  const Curve* huge = find_curve(*table, "huge pages");
  figure.caption =
      fmt::format("A load that waits for the one before takes {}, with {}.",
                  levels_sentence(read_levels(record, small), table->y.unit), small.name);
  if (huge != nullptr && huge != &small && !huge->y.empty() && huge->x.back() == small.x.back() &&
      huge->y.back() > 0)
    figure.caption += fmt::format(
        " At {} a load takes {} with huge pages and {} with {}; the difference is translating "
        "addresses.",
        show(huge->x.back(), "B"), show(huge->y.back(), table->y.unit),
        show(small.y.back(), table->y.unit), small.name);
  figure.caption += cache_sentence(record);
  return figure;
}

std::optional<Figure> memory_bandwidth_figure(const SurveyRecord& record) {
  const auto* table = find_drawable(record, "memory.bandwidth");
  if (table == nullptr) return std::nullopt;
  Figure figure = curve_figure("memory_bandwidth", "Bandwidth over size", *table,
                               {true, true, "working set", "bandwidth of one core"},
                               cache_marks(record, *table));
  const Curve& read = first_curve(*table, "read");
  figure.caption = fmt::format("One core moves ({}) {}.", read.name,
                               levels_sentence(read_levels(record, read), table->y.unit));
  if (const Curve* copy = find_curve(*table, "copy"); copy != nullptr && copy != &read)
    if (const auto readings = read_levels(record, *copy); !readings.empty())
      figure.caption += fmt::format(" Copying gives {} {}.", show(readings.back().y, table->y.unit),
                                    readings.back().where);
  figure.caption += cache_sentence(record);
  return figure;
}

std::optional<Figure> memcpy_figure(const SurveyRecord& record) {
  const auto* table = find_drawable(record, "memcpy");
  if (table == nullptr) return std::nullopt;
  Figure figure =
      curve_figure("memcpy", "memcpy over block size", *table,
                   {true, true, "block", plot_label(table->y.name)}, cache_marks(record, *table));
  const Curve& curve = first_curve(*table, "memcpy");
  const auto best = std::max_element(curve.y.begin(), curve.y.end()) - curve.y.begin();
  const auto i = static_cast<std::size_t>(best);
  figure.caption = fmt::format("{} peaks at {} with blocks of {}; {} gives {}.", curve.name,
                               show(curve.y[i], table->y.unit), show(curve.x[i], "B"),
                               show(curve.x.back(), "B"), show(curve.y.back(), table->y.unit));
  return figure;
}

std::optional<Figure> bandwidth_cores_figure(const SurveyRecord& record) {
  const auto* table = find_drawable(record, "memory.bandwidth.cores");
  if (table == nullptr) return std::nullopt;
  const Curve& lead = first_curve(*table, "read");
  std::vector<std::pair<double, std::string>> marks;
  if (const Reading enough = saturation(lead);
      enough.x > lead.x.front() && enough.x < lead.x.back())
    marks.emplace_back(enough.x, fmt::format("{} full", lead.name));
  Figure figure = curve_figure("bandwidth_cores", "Memory bandwidth over cores", *table,
                               {false, false, "cores at work", "bandwidth"}, marks);
  std::vector<std::string> parts;
  for (const auto& curve : table->series)
    if (!curve.x.empty()) {
      const Reading at = saturation(curve);
      parts.push_back(at.x < curve.x.back()
                          ? fmt::format("{} reaches 95 % of its highest with {} ({})", curve.name,
                                        cores(at.x), show(at.y, table->y.unit))
                          : fmt::format("{} still rises at {} ({})", curve.name, cores(at.x),
                                        show(at.y, table->y.unit)));
    }
  figure.caption = fmt::format("{} gives {} ({}); {}.", cores(lead.x.front()),
                               show(lead.y.front(), table->y.unit), lead.name, join(parts));
  return figure;
}

std::optional<Figure> core_rate_figure(const SurveyRecord& record) {
  const auto* table = find_drawable(record, "clock.core_rate");
  if (table == nullptr) return std::nullopt;
  Figure figure = curve_figure("core_rate", "Core rate over active cores", *table,
                               {false, false, "active cores", "core rate"}, {});
  const Curve& curve = first_curve(*table, "");
  const double first = curve.y.front(), last = curve.y.back();
  figure.caption =
      fmt::format("The core runs at {} with {} and at {} with {}, {} of the rate of the first.",
                  show(first, table->y.unit), cores(curve.x.front()), show(last, table->y.unit),
                  cores(curve.x.back()), show_percent(first > 0 ? last / first : 0));
  return figure;
}

std::optional<Figure> fork_cost_figure(const SurveyRecord& record) {
  const auto* table = find_drawable(record, "fork.cost");
  if (table == nullptr) return std::nullopt;
  Figure figure = curve_figure("fork_cost", "Cost of a fork over resident memory", *table,
                               {true, true, "resident memory of the parent", "time of a fork"}, {});
  std::vector<std::string> parts;
  for (const auto& curve : table->series) {
    if (curve.x.size() < 2) continue;
    const double growth = (curve.y.back() - curve.y.front()) / (curve.x.back() - curve.x.front());
    std::string part = fmt::format("with {} a fork takes {} at {} and {} at {}", curve.name,
                                   show(curve.y.front(), table->y.unit), show(curve.x.front(), "B"),
                                   show(curve.y.back(), table->y.unit), show(curve.x.back(), "B"));
    if (growth > 0)
      part += fmt::format(" ({} more per GiB)", show(growth * 1073741824, table->y.unit));
    parts.push_back(std::move(part));
  }
  figure.caption = join(parts) + ". The page tables are what a fork copies.";
  if (!parts.empty()) figure.caption[0] = 'W';
  return figure;
}

}  // namespace tabane::lab
