#include "tabane/lab/figures/ap1000.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

bool is_line(const Curve& curve) { return curve.name.ends_with(", line"); }

int number_parameter(const Table& table, const char* key) {
  const auto at = table.parameters.find(key);
  return at != table.parameters.end() && at->is_number() ? at->get<int>() : 0;
}

std::string transport_of(const Table& table) {
  const std::string name = text_parameter(table, "transport");
  return name.empty() ? "?" : name;
}

// Every other connected curve is dashed: one that lies under it can still be seen.
const char* style_of(bool connected, std::size_t index) {
  if (!connected) return "yerrorbars lw 1 pt 7 ps 0.5";
  return index % 2 == 0 ? "yerrorlines lw 2 pt 7 ps 0.5" : "yerrorlines lw 2 dt 2 pt 7 ps 0.5";
}

// Lines have the colour of the points that they are fitted to, which stand before them.
std::string plots_of(const CurvesTable& table, bool connected) {
  std::string plots;
  std::size_t index = 0, colour = 0;
  for (const Curve& curve : table.series) {
    if (curve.x.empty()) continue;
    plots += plots.empty() ? "plot " : ", \\\n     ";
    if (is_line(curve)) {
      plots += fmt::format("data index {} using 1:2 with lines lw 1.5 lc rgb '{}' notitle", index,
                           series_colour(colour - 1));
    } else {
      plots +=
          fmt::format("data index {} using 1:2:3:4 with {} lc rgb '{}' title '{}'", index,
                      style_of(connected, colour), series_colour(colour), plot_label(curve.name));
      ++colour;
    }
    ++index;
  }
  return plots + "\n";
}

std::string last_values(const CurvesTable& table) {
  std::vector<std::string> parts;
  for (const Curve& curve : table.series) {
    if (curve.x.empty() || is_line(curve)) continue;
    parts.push_back(fmt::format("{} {}", curve.name, show(curve.y.back(), table.y.unit)));
  }
  return join(parts);
}

std::string counted_ticks(const std::set<double>& values) {
  std::string ticks;
  for (const double v : values)
    ticks += fmt::format("{}'{:g}' {:g}", ticks.empty() ? "" : ", ", v, v);
  return fmt::format("set logscale x 2\nset xrange [{:.6g}:{:.6g}]\nset xtics ({})\n",
                     *values.begin() / 1.1, *values.rbegin() * 1.1, ticks);
}

// To the right of the line, where it also has room at the left edge.
std::string mark_of_pus(int pus) {
  return fmt::format(
      "set arrow from first {0}, graph 0 to first {0}, graph 1 nohead dt 2 lw 1.2 lc rgb '{1}'\n"
      "set label 'more ranks than the {0} PUs' at first {0}, graph 0.965 left offset character "
      "0.6,0 textcolor rgb '{2}'\n",
      pus, kMarkColour, kAxisColour);
}

std::string x_axis(const CurvesTable& table, const PositiveRange& x) {
  if (table.x.unit == "B") return byte_ticks(x.low / 1.3, x.high * 1.3);
  std::set<double> values;
  for (const Curve& curve : table.series) values.insert(curve.x.begin(), curve.x.end());
  return counted_ticks(values);
}

struct About {
  const char* title;
  const char* caption;  // what the reader sees, behind the values
};

const std::map<std::string, About>& abouts() {
  static const std::map<std::string, About> all = {
      {"ap1000.pingpong.time",
       {"Ping-pong: time over size, lines t0 + n / r_inf",
        "Points are medians with their 95 % interval, lines the fits t0 + n / r_inf, cut where the "
        "data do; a line's level end is t0, its slope 1 / r_inf."}},
      {"ap1000.pingpong.bandwidth",
       {"Ping-pong: bandwidth over size, and the same lines",
        "The same points and lines as bandwidth; in place the receiver copies nothing."}},
      {"ap1000.broadcast",
       {"Broadcast along a row",
        "Flags in shared memory let all ranks read at once; a tree passes messages on."}},
      {"ap1000.global",
       {"Sum and maximum with its index, all ranks", "The tree is of messages, as the report's."}},
      {"ap1000.vector",
       {"Sum of a vector",
        "Element by element is one call an element; where it crosses another curve, one reduction "
        "is worth it."}},
      {"ap1000.gather",
       {"Gather",
        "Fine: element by element in turn; block: one piece a rank; polling: the root "
        "asks one rank after the other."}},
      {"ap1000.scatter",
       {"Scatter",
        "Fine: element by element in turn; block: one piece a rank; polling: one rank "
        "after the other."}},
      {"ap1000.barrier",
       {"Barrier", "The report's own network takes the same time for any number of cells."}},
  };
  return all;
}

std::optional<Figure> figure_of(const Table& table) {
  const auto about = abouts().find(table.name);
  const auto* curves = std::get_if<CurvesTable>(&table.content);
  if (about == abouts().end() || curves == nullptr) return std::nullopt;
  PositiveRange x, y, medians;
  for (const Curve& curve : curves->series) {
    x.add(curve.x);
    medians.add(curve.y);
    y.add(curve.y);
    y.add(curve.low);
    y.add(curve.high);
  }
  if (!(x.low < x.high) || !(y.low <= y.high)) return std::nullopt;
  const int ranks = number_parameter(table, "ranks"), pus = number_parameter(table, "pus");
  Figure figure;
  figure.id = table.name;
  std::replace(figure.id.begin(), figure.id.end(), '.', '_');
  figure.title = fmt::format("{} ({}{})", about->second.title, transport_of(table),
                             ranks > 0 ? fmt::format(", {} ranks", ranks) : "");
  const std::string end =
      curves->x.unit == "B" ? show(x.high, "B") : fmt::format("{:g} {}", x.high, curves->x.name);
  figure.caption = fmt::format("At {}: {}. {} Both axes are logarithmic.", end,
                               last_values(*curves), about->second.caption);
  const bool messages = table.name.starts_with("ap1000.pingpong");
  const Shown shown =
      shown_in(messages ? std::sqrt(medians.low * medians.high) : medians.high, curves->y.unit);
  figure.data = curves_data(*curves, shown.factor);
  figure.data_table_html = table_html(*curves);
  figure.script = script_head(figure.id, 720, 480) + x_axis(*curves, x) +
                  decade_ticks("y", y.low * shown.factor / 1.5, y.high * shown.factor * 1.5) +
                  fmt::format(
                      "set title '{}' textcolor rgb '{}'\nset xlabel '{}'\nset ylabel '{}, {}'\n"
                      "set key maxrows 2\n",
                      plot_label(figure.title, 80), kAxisColour, plot_label(curves->x.name),
                      plot_label(curves->y.name), plot_label(shown.unit));
  if (curves->x.name == "ranks" && pus >= x.low && pus < x.high) {
    figure.script += mark_of_pus(pus);
    figure.caption += " To the right of the dashed mark ranks take turns on the PUs.";
  }
  figure.script += plots_of(*curves, !messages);
  return figure;
}

}  // namespace

std::vector<Figure> make_ap1000_figures(const SurveyRecord& record) {
  std::vector<Figure> figures;
  for (const Table& table : record.tables) {
    if (auto figure = figure_of(table)) figures.push_back(*std::move(figure));
  }
  return figures;
}

}  // namespace tabane::lab
