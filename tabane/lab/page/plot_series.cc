#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tabane/lab/page/plot.h"

namespace tabane::lab {
namespace {

constexpr const char* kBand = "95 % interval";
constexpr std::string_view kMarkColour = "#9ca3af";
constexpr std::size_t kSeriesColours = 6;  // after so many, series_colour() begins again

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

// The name of a curve in the key; empty: none.
std::string key_of(const Curve& curve) {
  return curve.role == Role::fitted ? "" : plot_label(curve.key.value_or(curve.name));
}

bool bounded(const Curve& curve) { return !curve.low.empty() && !curve.high.empty(); }

std::string plot_of(const Curve& curve, std::size_t index, const Look& look, bool crowded) {
  const std::string data = fmt::format("data index {} using ", index);
  const std::string key = key_of(curve);
  const std::string title = key.empty() ? "notitle" : fmt::format("title '{}'", key);
  if (curve.role == Role::fitted)
    return fmt::format("{}1:2 with lines lw 1.8 dt 2 lc rgb '#000000' notitle", data);
  if (curve.role == Role::published)
    // Points alone are rings around the measured ones, which they would hide in otherwise.
    return fmt::format(
        "{}1:2 with {} lc rgb '{}' {}", data,
        curve.joined ? "linespoints lw 1.5 dt 3 pt 6 ps 0.6" : "points lw 2 pt 6 ps 1.3",
        look.colour, title);
  if (!curve.flagged.empty())
    return fmt::format("{}1:2:5 with points pt {} ps variable lc rgb '{}' {}", data, look.point,
                       look.colour, title);
  if (!curve.joined) {
    const bool shape_in_key = curve.colour && curve.shape && !key.empty();
    const double size = crowded ? 0.45 : 0.9;
    std::string out = fmt::format("{}{} lw 1 pt {} ps {} lc rgb '{}' {}", data,
                                  bounded(curve) ? "1:2:3:4 with yerrorbars" : "1:2 with points",
                                  look.point, size, look.colour, shape_in_key ? "notitle" : title);
    if (shape_in_key)
      out += fmt::format(", \\\n     NaN with points pt {} ps {} lc rgb '{}' {}", look.point, size,
                         kAxisColour, title);
    return out;
  }
  std::string band;
  if (bounded(curve))
    band = fmt::format(
        "{}1:3:4 with filledcurves lc rgb '{}' fs transparent solid 0.18 noborder notitle, \\\n"
        "     ",
        data, look.colour);
  if (curve.shape == -1)
    return fmt::format("{}{}1:2 with lines lw 2.2 lc rgb '{}' {}", band, data, look.colour, title);
  // Every other line is dashed, so that one under another can still be seen.
  return fmt::format("{}{}1:2 with linespoints lw 2{} pt {} ps {} lc rgb '{}' {}", band, data,
                     look.dashed ? " dt 2" : "", look.point, crowded ? 0.5 : 0.6, look.colour,
                     title);
}

std::string plots_of(const Curves& curves) {
  static constexpr std::array<int, 6> kPoints = {7, 5, 9, 13, 11, 15};
  const bool crowded =
      std::ranges::any_of(curves.series, [](const Curve& c) { return c.x.size() > 24; });
  std::vector<std::string> plots, fitted;  // which nothing may hide
  std::size_t index = 0, place = 0;
  for (const Curve& curve : curves.series) {
    if (curve.x.empty()) continue;
    if (curve.role != Role::fitted) ++place;
    const std::size_t own = place == 0 ? 0 : place - 1;
    const std::size_t colour = curve.colour ? static_cast<std::size_t>(*curve.colour) : own;
    // Where colours begin again, shapes do not: up to 36 curves, no two look alike.
    const std::size_t shape = curve.shape && *curve.shape >= 0
                                  ? static_cast<std::size_t>(*curve.shape)
                                  : own + own / kSeriesColours;
    (curve.role == Role::fitted ? fitted : plots)
        .push_back(plot_of(curve, index++,
                           {std::string(series_colour(colour)), kPoints[shape % kPoints.size()],
                            curve.joined && own % 2 == 1 && !curve.colour},
                           crowded));
  }
  plots.insert(plots.end(), fitted.begin(), fitted.end());
  return "plot " + fmt::format("{}", fmt::join(plots, ", \\\n     "));
}

// The position of a mark on an axis, from 0 to 1.
double share_along(const Axis& axis, const Extent& range, double at) {
  if (axis.log) return std::log(at / range.low) / std::log(range.high / range.low);
  return (at - range.low) / (range.high - range.low);
}

// Heights for the names of vertical marks, which are left of their lines: a name that would run
// into one before it is put a line lower. One that has no room on its left is on the right.
class MarkNames {
 public:
  MarkNames(const Axis& axis, const Extent& range, Format format, double height)
      : axis_(axis),
        range_(range),
        format_(format),
        width_(0.84 * format.width),
        line_(format.line() / height) {}

  std::string place(const Mark& mark) {
    const double line = share_along(axis_, range_, mark.at);
    const double width = format_.text(plot_label(mark.label, kLongestMark).size() + 1) / width_;
    const bool right = line < width;
    const double from = right ? line : line - width, to = from + width;
    std::size_t height = 0;
    while (height < ends_.size() && ends_[height] > from) ++height;
    if (height == ends_.size()) ends_.push_back(0);
    ends_[height] = to;
    return fmt::format("first {:.6g}, graph {:.4g} {} offset character {},0", mark.at,
                       0.965 - line_ * double(height), right ? "left" : "right",
                       right ? 0.4 : -0.4);
  }

  static constexpr std::size_t kLongestMark = 40;

 private:
  const Axis& axis_;
  const Extent& range_;
  Format format_;
  double width_, line_;       // of the graph; a share of its height
  std::vector<double> ends_;  // of the last name at each height
};

std::string marks_of(const Curves& curves, const Extent& x, double y_factor, Format format,
                     double height) {
  std::string out;
  MarkNames names(curves.x, x, format, height);
  for (const Mark& mark : curves.marks) {
    const std::string label = plot_label(mark.label, MarkNames::kLongestMark);
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

bool plot(Figure& figure, const Curves& curves, Format format) {
  Extent x{curves.x.log}, y{curves.y.log};
  std::set<double> values;
  std::size_t keys = 0, longest = 0;
  bool bands = false;
  const auto add_key = [&](const std::string& key) {
    keys += !key.empty();
    longest = std::max(longest, key.size());
  };
  for (const Curve& curve : curves.series) {
    x.add(curve.x);
    y.add(curve.y);
    y.add(curve.low);
    y.add(curve.high);
    if (!curve.x.empty()) add_key(key_of(curve));
    bands |= bounded(curve);
    const bool points = curve.role == Role::measured || !curve.joined;
    if (points && values.size() <= 64) values.insert(curve.x.begin(), curve.x.end());
  }
  for (const Mark& mark : curves.marks)
    if (!mark.vertical) y.add(mark.at);
  if (x.empty() || y.empty() || !(x.low < x.high) || keys == 0) return false;
  const bool efficiency = curves.y.name == "efficiency";
  if (curves.ideal) y.add(efficiency ? 1 : x.high), add_key("ideal");
  if (bands) add_key(kBand);
  // A logarithmic axis of many decades reads best in the unit of its middle.
  const bool wide = curves.y.log && y.high > 1e4 * y.low;
  const Shown shown = shown_in(wide ? std::sqrt(y.low * y.high) : y.high, curves.y.unit);
  const double height = format.narrow() ? 250 : 390;
  const Key key = key_below(keys, longest, format, 0.84 * format.width - 30, height);
  figure.data = curves_data(curves, shown);
  figure.script += script_head(figure.id, format, key.height) + key.script +
                   axis_ticks('x', curves.x, x, Shown{}, values, format) +
                   axis_ticks('y', curves.y, y, shown, {}, format);
  const std::string unit = plot_label(shown.unit.empty() ? "" : ", " + shown.unit, 12);
  figure.script += fmt::format(
      "set xlabel '{}'\nset ylabel '{}{}'\n", plot_label(curves.x.name, format.narrow() ? 44 : 80),
      plot_label(curves.y.name, (format.narrow() ? 32 : 38) - unit.size()), unit);
  figure.script += marks_of(curves, x, shown.factor, format, height - 5 * format.font);
  figure.script += plots_of(curves);
  if (curves.ideal)
    figure.script += fmt::format(", \\\n     {} with lines lw 1 lc rgb '{}' title 'ideal'",
                                 efficiency ? "1" : "x", kMarkColour);
  if (bands)
    figure.script += fmt::format(
        ", \\\n     keyentry with boxes fs transparent solid 0.3 noborder lc rgb '{}' title '{}'",
        kAxisColour, kBand);
  figure.script += "\n";
  return true;
}

namespace {

// Groups, or labels, in the order in which they appear.
std::size_t place_of(std::vector<std::string>& all, const std::string& one) {
  const auto at = std::ranges::find(all, one);
  if (at != all.end()) return static_cast<std::size_t>(at - all.begin());
  all.push_back(one);
  return all.size() - 1;
}

// The largest value that a bar is drawn to: a longer bar would show no more than its label.
double longest_bar(const Bars& bars) {
  return bars.unit == "share" ? 2 : std::numeric_limits<double>::infinity();
}

Extent range_of(const Bars& bars) {
  Extent range{bars.log};
  for (const Bar& bar : bars.bars) {
    if (!bar.value) continue;
    range.add(std::min(*bar.value, longest_bar(bars)));
    if (bar.interval && !std::isfinite(longest_bar(bars)))
      range.add(bar.interval->low), range.add(bar.interval->high);
    if (bar.target) range.add(*bar.target);
  }
  if (bars.reference) range.add(*bars.reference);
  return range;
}

Shown shown_bars(const Bars& bars, const Extent& range) {
  if (bars.unit == "share") return {100, "%"};
  return shown_in(range.high, bars.unit);
}

std::string bar_label(const Bar& bar, const Bars& bars) {
  if (bars.unit == "share") return show_percent(*bar.value);
  if (bars.unit == "ratio" && bar.interval)
    return fmt::format("{0:.{3}f} [{1:.{3}f}, {2:.{3}f}]", *bar.value, bar.interval->low,
                       bar.interval->high, *bar.value < 99.5 ? 2 : 0);
  return show(*bar.value, bars.unit);
}

// Of a bar, where the next one is 1 below it.
double half_height(const Bars& bars, Format format) {
  return format.narrow() && !bars.clustered ? 0.2 : 0.36;
}

struct Lying {
  std::string data, marks, headings;
  std::size_t widest_value = 0;     // in characters
  std::vector<std::string> labels;  // left of the bars
  std::vector<double> places;
  std::vector<std::string> keys;  // one for each colour
  bool intervals = false;
  double end = 0;
};

// One bar below the other, a gap between groups. Clustered bars have the name of their group above
// them and the colour of their label; others have their own name on the left, or above them where
// there is no room, and the colour of their group.
Lying lying(const Bars& bars, const Shown& shown, double from, Format format) {
  Lying out;
  out.data = "# place, value, from, colour, low, high, label\n";
  const Bar* previous = nullptr;
  const auto add_heading = [&](const std::string& text, double place) {
    out.headings += fmt::format("set label '{}' at graph 0, first {:.2f} left\n", text, place);
  };
  for (const Bar& bar : bars.bars) {
    if (!bar.value) continue;
    const bool begins = previous == nullptr || previous->group != bar.group;
    if (previous != nullptr && begins) out.end += 0.7;
    previous = &bar;
    const std::string heading = plot_label(bars.clustered ? bar.group : bar.label, 44);
    if (bars.clustered && begins) {
      add_heading(heading, out.end);
      out.end += 1;
    } else if (!bars.clustered && format.narrow()) {
      add_heading(heading, out.end - 0.47);
    } else if (!bars.clustered) {
      out.labels.push_back(heading);
      out.places.push_back(out.end);
    }
    const double value = std::min(*bar.value, longest_bar(bars)) * shown.factor;
    const std::string value_label = plot_label(bar_label(bar, bars));
    const core::Interval interval = bar.interval.value_or(core::Interval{*bar.value, *bar.value});
    out.intervals |= bar.interval.has_value();
    out.data += fmt::format("{:.1f} {:.6g} {:.6g} {} {:.6g} {:.6g} \"{}\"\n", out.end, value, from,
                            place_of(out.keys, bars.clustered ? bar.label : bar.group),
                            interval.low * shown.factor, interval.high * shown.factor, value_label);
    out.widest_value = std::max(out.widest_value, value_label.size());
    const auto add_mark = [&](double at, int width) {
      const double half = 1.2 * half_height(bars, format);
      out.marks += fmt::format(
          "set arrow from {0:.6g},{1:.2f} to {0:.6g},{2:.2f} nohead lw {3} lc rgb '#000000' "
          "front\n",
          at * shown.factor, out.end - half, out.end + half, width);
    };
    // Not through the names that are between the bars.
    if (bars.reference && format.narrow()) add_mark(*bars.reference, 2);
    if (bar.target) add_mark(*bar.target, 3);
    out.end += 1;
  }
  return out;
}

std::string colour_function() {
  std::string out, pick = "pick(i) = ";
  for (std::size_t i = 0; i < kSeriesColours; ++i) {
    out += fmt::format("colour{} = 0x{}\n", i, series_colour(i).substr(1));
    pick += i + 1 < kSeriesColours ? fmt::format("i=={0} ? colour{0} : ", i)
                                   : fmt::format("colour{}\n", i);
  }
  return out + pick;
}

}  // namespace

bool plot(Figure& figure, const Bars& bars, Format format) {
  const Extent range = range_of(bars);
  if (range.empty()) return false;
  const Shown shown = shown_bars(bars, range);
  const double from = bars.log ? range.low * shown.factor / 1.3 : 0;
  const double high = std::max(range.high * shown.factor, from + 1e-9);
  // Ratios are drawn from the line of no difference, to the left or to the right.
  const double begin = bars.log && bars.reference ? *bars.reference * shown.factor : from;
  Lying rows = lying(bars, shown, begin, format);
  if (rows.widest_value == 0) return false;
  figure.data = rows.data;
  std::size_t longest = 0, longest_key = rows.intervals ? std::string_view(kBand).size() : 0;
  for (const std::string& label : rows.labels) longest = std::max(longest, label.size());
  // One colour needs no key; more groups than colours, which their names tell apart, have one.
  const bool many = rows.keys.size() > 6;
  if (rows.keys.size() < 2 || many) rows.keys.clear();
  for (const std::string& key : rows.keys) longest_key = std::max(longest_key, key.size());
  const std::size_t keys = rows.keys.size() + (rows.intervals ? 1 : 0);
  const double pitch = (format.narrow() && !bars.clustered ? 2.7 : 1.5) * format.font;
  const double chart = pitch * (rows.end + 1) + 4.2 * format.font;
  const double left = format.text(longest) + format.font;
  const double right = format.text(rows.widest_value) + 1.5 * format.font;
  Key key{chart, "unset key\n"};
  if (keys > 0) key = key_below(keys, longest_key, format, format.width - left - right, chart);
  figure.script +=
      script_head(figure.id, format, key.height) + key.script + colour_function() + rows.headings;
  if (!rows.labels.empty()) figure.script += label_ticks('y', rows.labels, rows.places);
  // Labels follow the longest bar, so that they neither collide nor hide a bar's end.
  const double behind = bars.log ? high * 1.15 : high * 1.02;
  if (bars.log) figure.script += axis_ticks('x', {"", "", true}, range, shown, {}, format);
  figure.script += fmt::format(
      "set yrange [{:.1f}:-1]\nset xrange [{:.6g}:{:.6g}]\nset border 0\nset grid noy\n"
      "set tics scale 0\n{}set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n"
      "set tmargin at screen {:.4f}\n",
      rows.end, from, behind, rows.labels.empty() ? "unset ytics\n" : "", left / format.width,
      1 - right / format.width, 1 - 4 / key.height);
  if (bars.unit == "share")
    figure.script +=
        fmt::format("set xtics 0,{},{:.0f}\nset format x '%g %%'\n", high > 125 ? 50 : 25, high);
  else if (!bars.log && format.narrow())
    figure.script += fmt::format("set xtics {:g}\n", round_step(high - from, 4));
  if (bars.reference && !format.narrow())
    figure.script += fmt::format(
        "set arrow from {0:.6g},graph 0 to {0:.6g},graph 1 nohead lw 2 lc rgb '#000000' front\n",
        *bars.reference * shown.factor);
  figure.script += rows.marks;
  figure.script += fmt::format(
      "plot data using (($2+$3)/2):1:(abs($2-$3)/2):({2}):(pick({3})) with boxxyerror fs "
      "solid noborder lc rgb variable notitle, \\\n"
      "     data using 2:1:5:6 with xerrorbars pt 0 lw 1.5 lc rgb '{1}' notitle, \\\n"
      "     data using ({0:.6g}):1:7 with labels left offset 0.5,0 notitle",
      behind, kAxisColour, half_height(bars, format), many ? "0" : "int($4)");
  for (std::size_t i = 0; i < rows.keys.size(); ++i)
    figure.script +=
        fmt::format(", \\\n     keyentry with boxes fs solid noborder lc rgb '{}' title '{}'",
                    series_colour(i), plot_label(rows.keys[i]));
  if (rows.intervals)
    figure.script += fmt::format(", \\\n     keyentry with lines lw 1.5 lc rgb '{}' title '{}'",
                                 kAxisColour, kBand);
  figure.script += "\n";
  return true;
}

}  // namespace tabane::lab
