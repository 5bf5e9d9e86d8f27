#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tabane/lab/page/plot.h"

namespace tabane::lab {
namespace {

// NaN is gnuplot's word for a point that is not there.
std::string number(double v) { return std::isfinite(v) ? fmt::format("{:.6g}", v) : "NaN"; }

// A block "x y low high size" for each series that has points: `index` counts no empty block.
std::string curves_data(const Curves& curves, const Shown& shown) {
  std::string out;
  for (const Curve& curve : curves.series) {
    if (curve.x.empty()) continue;
    out += fmt::format("# {}: x, y, low, high in {}, size of the point\n", plot_label(curve.name),
                       shown.unit.empty() ? "1" : plot_label(shown.unit));
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      // A point without an interval would vanish with it.
      const auto end = [&](const std::vector<double>& ends) {
        return ends.empty() || std::isnan(ends[i]) ? curve.y[i] : ends[i];
      };
      out +=
          fmt::format("{:.10g} {} {} {} {}\n", curve.x[i], number(curve.y[i] * shown.factor),
                      number(end(curve.low) * shown.factor), number(end(curve.high) * shown.factor),
                      !curve.flagged.empty() && curve.flagged[i] ? 1.0 : 0.45);
    }
    out += "\n\n";
  }
  return out;
}

struct Look {
  std::string colour;
  int point = 7;
  bool dashed = false;
};

std::string plot_of(const Curve& curve, std::size_t index, const Look& look, bool crowded) {
  const std::string data = fmt::format("data index {} using ", index);
  const std::string key = plot_label(curve.key.value_or(curve.name));
  const std::string title = key.empty() ? "notitle" : fmt::format("title '{}'", key);
  if (curve.role == Role::fitted)
    return fmt::format("{}1:2 with lines lw 1.5 dt 2 lc rgb '{}' notitle", data, look.colour);
  if (curve.role == Role::published)
    return fmt::format("{}1:2 with {} lw 1.5 dt 3 pt 6 ps 0.6 lc rgb '{}' {}", data,
                       curve.joined ? "linespoints" : "points", look.colour, title);
  if (!curve.flagged.empty())
    return fmt::format("{}1:2:5 with points pt {} ps variable lc rgb '{}' {}", data, look.point,
                       look.colour, title);
  const bool bounded = !curve.low.empty() && !curve.high.empty();
  if (!curve.joined) {
    const bool shape_in_key = curve.colour && curve.shape && !key.empty();
    const double size = crowded ? 0.45 : 0.9;
    std::string out = fmt::format("{}{} lw 1 pt {} ps {} lc rgb '{}' {}", data,
                                  bounded ? "1:2:3:4 with yerrorbars" : "1:2 with points",
                                  look.point, size, look.colour, shape_in_key ? "notitle" : title);
    if (shape_in_key)
      out += fmt::format(", \\\n     NaN with points pt {} ps {} lc rgb '{}' {}", look.point, size,
                         kAxisColour, title);
    return out;
  }
  std::string band;
  if (bounded)
    band = fmt::format(
        "{}1:3:4 with filledcurves lc rgb '{}' fs transparent solid 0.18 noborder notitle, \\\n"
        "     ",
        data, look.colour);
  if (curve.shape == -1)
    return fmt::format("{}{}1:2 with lines lw 2.2 lc rgb '{}' {}", band, data, look.colour, title);
  // Every other line is dashed: one that lies under another can still be seen.
  return fmt::format("{}{}1:2 with linespoints lw 2{} pt {} ps {} lc rgb '{}' {}", band, data,
                     look.dashed ? " dt 2" : "", look.point, crowded ? 0.5 : 0.6, look.colour,
                     title);
}

std::string plots_of(const Curves& curves) {
  static constexpr std::array<int, 6> kPoints = {7, 5, 9, 13, 11, 15};
  const bool crowded = std::any_of(curves.series.begin(), curves.series.end(),
                                   [](const Curve& c) { return c.x.size() > 24; });
  std::vector<std::string> plots;
  std::size_t index = 0, place = 0;
  for (const Curve& curve : curves.series) {
    if (curve.x.empty()) continue;
    if (curve.role != Role::fitted) ++place;
    const std::size_t own = place == 0 ? 0 : place - 1;
    const std::size_t colour = curve.colour ? static_cast<std::size_t>(*curve.colour) : own;
    const std::size_t shape =
        curve.shape && *curve.shape >= 0 ? static_cast<std::size_t>(*curve.shape) : own;
    plots.push_back(plot_of(curve, index++,
                            {std::string(series_colour(colour)), kPoints[shape % kPoints.size()],
                             curve.joined && own % 2 == 1 && !curve.colour},
                            crowded));
  }
  return "plot " + fmt::format("{}", fmt::join(plots, ", \\\n     "));
}

// Where a mark stands on an axis, from 0 to 1.
double share_along(const Axis& axis, const Range& range, double at) {
  if (axis.log) return std::log(at / range.low) / std::log(range.high / range.low);
  return (at - range.low) / (range.high - range.low);
}

// Heights for the names of vertical marks, which stand left of their lines: a name that would run
// into one before it goes a line down. One that has no room on its left stands on the right.
class MarkNames {
 public:
  MarkNames(const Axis& axis, const Range& range) : axis_(axis), range_(range) {}

  std::string place(const Mark& mark) {
    constexpr double kCharacter = 0.0135, kTop = 0.965, kLine = 0.055;  // shares of the graph
    const double line = share_along(axis_, range_, mark.at);
    const double width = kCharacter * double(mark.label.size() + 1);
    const bool right = line < width;
    const double from = right ? line : line - width, to = from + width;
    std::size_t height = 0;
    while (height < ends_.size() && ends_[height] > from) ++height;
    if (height == ends_.size()) ends_.push_back(0);
    ends_[height] = to;
    return fmt::format("first {:.6g}, graph {:.4g} {} offset character {},0", mark.at,
                       kTop - kLine * double(height), right ? "left" : "right", right ? 0.4 : -0.4);
  }

 private:
  const Axis& axis_;
  const Range& range_;
  std::vector<double> ends_;  // of the last name at each height
};

std::string marks_of(const Curves& curves, const Range& x, double y_factor) {
  std::string out;
  MarkNames names(curves.x, x);
  for (const Mark& mark : curves.marks) {
    const std::string label = plot_label(mark.label, 60);
    if (mark.vertical) {
      out += fmt::format(
          "set arrow from first {0:.6g}, graph 0 to first {0:.6g}, graph 1 nohead dt 2 lw 1.2 lc "
          "rgb '{1}'\n"
          "set label '{2}' at {4} textcolor rgb '{3}'\n",
          mark.at, kMarkColour, label, kAxisColour, names.place(mark));
    } else {
      out += fmt::format(
          "set arrow from graph 0, first {0:.6g} to graph 1, first {0:.6g} nohead lw 2 lc rgb "
          "'#000000'\n"
          "set label '{1}' at graph 0.985, first {0:.6g} right offset character 0,0.5 textcolor "
          "rgb '{2}'\n",
          mark.at * y_factor, label, kAxisColour);
    }
  }
  return out;
}

}  // namespace

bool plot(Figure& figure, const Curves& curves) {
  Range x{curves.x.log}, y{curves.y.log};
  std::set<double> values;
  std::size_t drawn = 0;
  for (const Curve& curve : curves.series) {
    x.add(curve.x);
    y.add(curve.y);
    y.add(curve.low);
    y.add(curve.high);
    if (curve.role != Role::fitted && !curve.x.empty() && curve.key != "") ++drawn;
    const bool points = curve.role == Role::measured || !curve.joined;
    if (points && values.size() <= 64) values.insert(curve.x.begin(), curve.x.end());
  }
  for (const Mark& mark : curves.marks) {
    if (!mark.vertical) y.add(mark.at);
  }
  if (x.empty() || y.empty() || !(x.low < x.high) || drawn == 0) return false;
  const bool efficiency = curves.y.name == "efficiency";
  if (curves.ideal) y.add(efficiency ? 1 : x.high);
  // A logarithmic axis of many decades reads best in the unit of its middle.
  const bool wide = curves.y.log && y.high > 1e4 * y.low;
  const Shown shown = shown_in(wide ? std::sqrt(y.low * y.high) : y.high, curves.y.unit);
  figure.data = curves_data(curves, shown);
  figure.script = script_head(figure.id, {720, 460}) +
                  axis_ticks('x', curves.x, x, Shown{}, values) +
                  axis_ticks('y', curves.y, y, shown, {});
  const bool named = !shown.unit.empty();
  figure.script += fmt::format("set xlabel '{}'\nset ylabel '{}{}{}'\nset key maxrows {}\n",
                               plot_label(curves.x.name, 80), plot_label(curves.y.name),
                               named ? ", " : "", plot_label(shown.unit), drawn > 8 ? 4 : 2);
  figure.script += marks_of(curves, x, shown.factor) + plots_of(curves);
  if (curves.ideal)
    figure.script += fmt::format(", \\\n     {} with lines lw 1 lc rgb '{}' title 'ideal'",
                                 efficiency ? "1" : "x", kMarkColour);
  figure.script += "\n";
  return true;
}

}  // namespace tabane::lab
