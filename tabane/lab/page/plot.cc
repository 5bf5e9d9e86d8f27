#include "tabane/lab/page/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tabane::lab {
namespace {

const std::array<FigureColour, 9> kColours = {{{"#6b7280", "fig-axis"},
                                               {"#e5e7eb", "fig-grid"},
                                               {"#9ca3af", "fig-mark"},
                                               {"#0072b2", "c1"},
                                               {"#d55e00", "c2"},
                                               {"#009e73", "c3"},
                                               {"#b8569a", "c4"},
                                               {"#a67c00", "c5"},
                                               {"#56b4e9", "c6"}}};
constexpr std::size_t kFirstSeries = 3;
constexpr std::size_t kMostTicks = 16;

std::string joined_ticks(char axis, const std::vector<std::string>& ticks) {
  return fmt::format("set {}tics ({})\n", axis, fmt::join(ticks, ", "));
}

// Binary sizes at powers of two, at most about 9 of them.
std::string byte_ticks(char axis, double low, double high) {
  const int first = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(high) + 1e-9));
  int step = 1;
  while ((last - first) / step > 8) ++step;
  std::vector<std::string> ticks;
  for (int k = first + (step - first % step) % step; k <= last; k += step)
    ticks.push_back(tick(show(std::exp2(k), "B"), std::exp2(k)));
  return fmt::format("set logscale {} 2\n", axis) + joined_ticks(axis, ticks);
}

// 1, 2 and 5 of every decade, or the decades alone when there are many.
std::string decade_ticks(char axis, double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  std::vector<std::string> ticks;
  for (int decade = first; decade <= last; ++decade)
    for (int digit : {1, 2, 5}) {
      const double x = digit * std::pow(10.0, decade);
      if (x < low || x > high || (digit != 1 && last - first > 4)) continue;
      ticks.push_back(tick(fmt::format("{:g}", x), x));
    }
  return fmt::format("set logscale {} 10\n", axis) + joined_ticks(axis, ticks);
}

// "memory.latency" gives "memory_latency".
std::string file_stem(std::string_view name) {
  std::string stem;
  for (const char c : name.substr(0, 60)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    stem += plain ? c : '_';
  }
  return stem.empty() ? "figure" : stem;
}

bool counts(const std::set<double>& values) {
  return !values.empty() && values.size() <= kMostTicks &&
         std::all_of(values.begin(), values.end(),
                     [](double v) { return v == std::floor(v) && v > 0; });
}

}  // namespace

std::span<const FigureColour> figure_colours() { return kColours; }

std::string_view series_colour(std::size_t i) {
  return kColours[kFirstSeries + i % (kColours.size() - kFirstSeries)].hex;
}

std::string_view heat_palette() {
  return "set palette maxcolors 64 defined (0 '#440154', 1 '#482878', 2 '#3e4989', 3 '#31688e', "
         "4 '#26828e', 5 '#1f9e89', 6 '#35b779', 7 '#6ece58', 8 '#b5de2b', 9 '#fde725')\n";
}

std::string script_head(std::string_view id, Size size) {
  return fmt::format(
      "set terminal svg size {1},{2} noenhanced font 'sans-serif,14' background '#ffffff' "
      "standalone\n"
      "set encoding utf8\n"
      "set output '{0}.svg'\n"
      "data = '{0}.dat'\n"
      "set border 3 lc rgb '{3}'\n"
      "set tics nomirror scale 0.5 textcolor rgb '{3}'\n"
      "set mxtics 1\nset mytics 1\n"
      "set grid x y lt 1 lw 1 lc rgb '{4}'\n"
      "set key above left Left reverse samplen 2 width 1\n"
      "set xlabel textcolor rgb '{3}'\nset ylabel textcolor rgb '{3}'\n",
      id, size.width, size.height, kAxisColour, kGridColour);
}

std::string tick(std::string_view label, double place) {
  std::string text = plot_label(label, 44);
  for (auto at = text.find('%'); at != std::string::npos; at = text.find('%', at + 2))
    text.insert(at, "%");  // gnuplot reads labels of ticks as formats
  return fmt::format("'{}' {:.10g}", text, place);
}

std::string label_ticks(char axis, const std::vector<std::string>& labels,
                        const std::vector<double>& places) {
  std::vector<std::string> ticks;
  for (std::size_t i = 0; i < labels.size(); ++i)
    ticks.push_back(tick(labels[i], places.empty() ? static_cast<double>(i) : places[i]));
  return fmt::format("set {}tics ({}) scale 0\n", axis, fmt::join(ticks, ", "));
}

std::string axis_ticks(char name, const Axis& axis, const Range& range, const Shown& shown,
                       const std::set<double>& values) {
  double low = range.low * shown.factor, high = range.high * shown.factor;
  std::string out;
  if (axis.log) {
    // Room for the points at the ends; above the curves also for their names.
    const double room = name == 'y' ? 1.4 : 1.15;
    low /= room;
    high *= room;
    if (axis.unit == "B" && name == 'x') {
      out = byte_ticks(name, low, high);
    } else if (name == 'x' && counts(values)) {
      std::vector<std::string> ticks;
      for (const double v : values) ticks.push_back(tick(fmt::format("{:g}", v), v));
      out = fmt::format("set logscale {} 2\n", name) + joined_ticks(name, ticks);
    } else {
      out = decade_ticks(name, low, high);
    }
  } else if (name == 'y') {
    low = std::min(0.0, low);
    high *= 1.08;
  } else if (high <= kMostTicks && counts(values)) {
    out = "set xtics 1\n";
  }
  if (!(low < high)) high = low + 1;
  return out + fmt::format("set {}range [{:.6g}:{:.6g}]\n", name, low, high);
}

std::optional<Figure> figure_of(const View& view) {
  Figure figure;
  figure.view = view.name;
  figure.id = file_stem(view.name);
  figure.title = view.title;
  figure.caption = view.note;
  const bool drawn = std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, Rows> || std::is_same_v<T, Image>)
          return false;
        else
          return plot(figure, content);
      },
      view.content);
  if (!drawn) return std::nullopt;
  figure.data_table_html = table_html(view);
  return figure;
}

bool is_on_page(const Record& record, const View& view) {
  return record.kind != Kind::survey || !view.note.empty();
}

std::vector<Figure> make_figures(const Record& record) {
  std::vector<Figure> figures;
  std::set<std::string> stems;
  for (View view : record.views) {
    if (!is_on_page(record, view)) continue;
    const std::string name = view.name;
    for (int same = 2; !stems.insert(file_stem(view.name)).second; ++same)
      view.name = fmt::format("{}_{}", same, name);
    auto figure = figure_of(view);
    if (!figure) continue;
    figure->view = name;
    figures.push_back(*std::move(figure));
  }
  return figures;
}

}  // namespace tabane::lab
