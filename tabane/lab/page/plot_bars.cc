#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tabane/lab/page/plot.h"

namespace tabane::lab {
namespace {

// Groups, or labels, in the order in which they appear.
std::size_t place_of(std::vector<std::string>& all, const std::string& one) {
  const auto at = std::find(all.begin(), all.end(), one);
  if (at != all.end()) return static_cast<std::size_t>(at - all.begin());
  all.push_back(one);
  return all.size() - 1;
}

// The largest value that a bar is drawn to: beyond it a bar tells nothing more than its label.
double longest_bar(const Bars& bars) {
  return bars.unit == "share" ? 2 : std::numeric_limits<double>::infinity();
}

Range range_of(const Bars& bars) {
  Range range{bars.log};
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

Shown shown_bars(const Bars& bars, const Range& range) {
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

struct Lying {
  std::string data, targets;
  std::size_t widest_value = 0;  // in characters
  std::vector<std::string> labels;
  std::vector<double> places;
  double end = 0;
};

// One bar below the other, a gap between groups.
Lying lying(const Bars& bars, const Shown& shown, double from) {
  Lying out;
  out.data = "# place, value, from, colour, low, high, label\n";
  std::vector<std::string> groups;
  const std::string* previous = nullptr;
  for (const Bar& bar : bars.bars) {
    if (!bar.value) continue;
    if (previous != nullptr && *previous != bar.group) out.end += 0.7;
    previous = &bar.group;
    const double value = std::min(*bar.value, longest_bar(bars)) * shown.factor;
    const std::string value_label = plot_label(bar_label(bar, bars));
    const core::Interval interval = bar.interval.value_or(core::Interval{*bar.value, *bar.value});
    out.data += fmt::format("{:.1f} {:.6g} {:.6g} {} {:.6g} {:.6g} \"{}\"\n", out.end, value, from,
                            place_of(groups, bar.group) % 6, interval.low * shown.factor,
                            interval.high * shown.factor, value_label);
    out.widest_value = std::max(out.widest_value, value_label.size());
    if (bar.target)
      out.targets += fmt::format(
          "set arrow from {0:.6g},{1:.2f} to {0:.6g},{2:.2f} nohead lw 3 lc rgb '#000000' front\n",
          *bar.target * shown.factor, out.end - 0.42, out.end + 0.42);
    out.labels.push_back(plot_label(bar.label, 44));
    out.places.push_back(out.end);
    out.end += 1;
  }
  return out;
}

std::string colour_function() {
  std::string out, pick = "pick(i) = ";
  for (std::size_t i = 0; i < 6; ++i) {
    out += fmt::format("colour{} = 0x{}\n", i, series_colour(i).substr(1));
    pick += i < 5 ? fmt::format("i=={0} ? colour{0} : ", i) : "colour5\n";
  }
  return out + pick;
}

// Room for so many characters, in those of gnuplot, which are wider than most.
int margin(std::size_t characters) {
  return static_cast<int>(0.86 * static_cast<double>(characters)) + 2;
}

bool plot_lying(Figure& figure, const Bars& bars) {
  const Range range = range_of(bars);
  if (range.empty()) return false;
  const Shown shown = shown_bars(bars, range);
  const double from = bars.log ? range.low * shown.factor / 1.3 : 0;
  const double high = std::max(range.high * shown.factor, from + 1e-9);
  const Lying rows = lying(bars, shown, from);
  if (rows.labels.empty()) return false;
  figure.data = rows.data;
  std::size_t longest = 0;
  for (const std::string& label : rows.labels) longest = std::max(longest, label.size());
  figure.script = script_head(figure.id, {720, static_cast<int>(110 + 21 * rows.end)});
  figure.script += colour_function() + label_ticks('y', rows.labels, rows.places);
  // Labels stand behind the longest bar, so that they neither collide nor hide a bar's end.
  const double behind = bars.log ? high * 1.15 : high * 1.02;
  if (bars.log) figure.script += axis_ticks('x', {"", "", true}, range, shown, {});
  figure.script += fmt::format(
      "set yrange [{:.1f}:-1]\nset xrange [{:.6g}:{:.6g}]\nset border 0\nset grid noy\n"
      "set tics scale 0\nset lmargin {}\nset rmargin {}\nset tmargin 1\nunset key\n",
      rows.end, from, behind, margin(longest), margin(rows.widest_value));
  if (bars.unit == "share")
    figure.script +=
        fmt::format("set xtics 0,{},{:.0f}\nset format x '%g %%'\n", high > 125 ? 50 : 25, high);
  if (bars.reference)
    figure.script += fmt::format(
        "set arrow from {0:.6g},graph 0 to {0:.6g},graph 1 nohead lw 2 lc rgb '#000000' front\n",
        *bars.reference * shown.factor);
  figure.script += rows.targets;
  figure.script += fmt::format(
      "plot data using (($2+$3)/2):1:(abs($2-$3)/2):(0.36):(pick(int($4))) with boxxyerror fs "
      "solid noborder lc rgb variable, \\\n"
      "     data using 2:1:5:6 with xerrorbars pt 0 lw 1.5 lc rgb '{1}', \\\n"
      "     data using ({0:.6g}):1:7 with labels left offset 0.5,0\n",
      behind, kAxisColour);
  return true;
}

// Bars of a group beside each other, above the group's name.
bool plot_clustered(Figure& figure, const Bars& bars) {
  const Range range = range_of(bars);
  if (range.empty()) return false;
  const Shown shown = shown_bars(bars, range);
  std::vector<std::string> groups, labels;
  std::map<std::pair<std::size_t, std::size_t>, double> values;
  for (const Bar& bar : bars.bars) {
    const std::size_t group = place_of(groups, bar.group), label = place_of(labels, bar.label);
    if (bar.value) values[{group, label}] = *bar.value * shown.factor;
  }
  figure.data = "# group";
  for (const std::string& label : labels) figure.data += fmt::format(" \"{}\"", plot_label(label));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    figure.data += fmt::format("\n\"{}\"", plot_label(groups[g], 20));
    for (std::size_t l = 0; l < labels.size(); ++l)
      figure.data += values.contains({g, l}) ? fmt::format(" {:.5g}", values[{g, l}]) : " NaN";
  }
  figure.data += "\n";
  figure.script = script_head(figure.id, {640, 400});
  figure.script += fmt::format(
      "set style data histograms\nset style histogram clustered gap 1\nset style fill solid "
      "noborder\nset boxwidth 0.9\nset grid nox\nset xtics scale 0{}\nset ylabel '{}'\n"
      "set yrange [0:*]\n",
      groups.size() > 6 ? " rotate by 30 right" : "", plot_label(shown.unit));
  if (bars.reference)
    figure.script += fmt::format(
        "set arrow from graph 0, first {0:.6g} to graph 1, first {0:.6g} nohead lw 1.5 lc rgb "
        "'#000000' front\n",
        *bars.reference * shown.factor);
  std::vector<std::string> plots;
  for (std::size_t l = 0; l < labels.size(); ++l)
    plots.push_back(fmt::format("data using {}:xtic(1) lc rgb '{}' title '{}'", l + 2,
                                series_colour(l), plot_label(labels[l])));
  figure.script += fmt::format("plot {}\n", fmt::join(plots, ", \\\n     "));
  return !values.empty();
}

}  // namespace

bool plot(Figure& figure, const Bars& bars) {
  return bars.clustered ? plot_clustered(figure, bars) : plot_lying(figure, bars);
}

}  // namespace tabane::lab
