#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

struct Bar {
  const Result* result;
  double share;
};

std::string family(const std::string& name) { return name.substr(0, name.find('.')); }

// Families in the order of the survey, the best share first inside each.
std::vector<Bar> sorted_bars(const SurveyRecord& record) {
  std::vector<std::string> order;
  std::vector<Bar> bars;
  for (const auto& result : record.results) {
    const auto share = result.of_limit();
    if (!share || !std::isfinite(*share)) continue;
    bars.push_back({&result, *share});
    if (std::find(order.begin(), order.end(), family(result.name)) == order.end())
      order.push_back(family(result.name));
  }
  const auto place = [&](const Bar& bar) {
    return std::find(order.begin(), order.end(), family(bar.result->name)) - order.begin();
  };
  std::stable_sort(bars.begin(), bars.end(), [&](const Bar& a, const Bar& b) {
    return place(a) != place(b) ? place(a) < place(b) : a.share > b.share;
  });
  return bars;
}

std::string bars_table(const std::vector<Bar>& bars) {
  std::string out =
      "<table><thead><tr><th>result</th><th>value</th><th>limit</th><th>share</th>"
      "<th>where the limit comes from</th></tr></thead><tbody>";
  for (const auto& [result, share] : bars)
    out += fmt::format(
        "<tr><th>{}</th><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td>{}</td></tr>",
        escape_html(result->name), escape_html(show(*result->value, result->unit)),
        escape_html(show(result->limit->value, result->unit)), show_percent(share),
        escape_html(result->limit->how));
  return out + "</tbody></table>";
}

std::string caption(const std::vector<Bar>& bars) {
  const auto by_share = [](const Bar& a, const Bar& b) { return a.share < b.share; };
  const auto [low, high] = std::minmax_element(bars.begin(), bars.end(), by_share);
  const auto above =
      std::count_if(bars.begin(), bars.end(), [](const Bar& b) { return b.share > 1; });
  if (bars.size() == 1)
    return fmt::format("{} reaches {} of its limit.", low->result->name, show_percent(low->share));
  std::string text = fmt::format(
      "Each bar is one figure as a share of the machine's own limit for it. {} comes closest with "
      "{}; "
      "{} is farthest with {}.",
      high->result->name, show_percent(high->share), low->result->name, show_percent(low->share));
  if (above > 0)
    text +=
        fmt::format(" {} above 100 %: there the limit, itself measured or assumed, was too low.",
                    above == 1 ? "One bar is" : fmt::format("{} bars are", above));
  return text;
}

}  // namespace

std::optional<Figure> share_of_limit_figure(const SurveyRecord& record) {
  const auto bars = sorted_bars(record);
  if (bars.empty()) return std::nullopt;
  Figure figure{.id = "share_of_limit",
                .title = "How close to the limit",
                .caption = caption(bars),
                .script = "",
                .data = "# y share_percent colour name\n",
                .svg = "",
                .data_table_html = bars_table(bars)};
  double y = 0, widest = 100;
  std::size_t longest = 0;
  std::map<std::string, int> colours;
  std::string previous, ticks;
  for (const auto& [result, share] : bars) {
    const std::string now = family(result->name), label = plot_label(result->name, 44);
    if (!previous.empty() && now != previous) y += 0.7;  // a gap between families
    previous = now;
    const int colour = colours.try_emplace(now, static_cast<int>(colours.size())).first->second;
    const double percent = 100 * share;
    // Beyond twice the limit a bar tells nothing more; its label still gives the figure.
    const double drawn = std::min(percent, 200.0);
    widest = std::max(widest, drawn);
    longest = std::max(longest, label.size());
    ticks += fmt::format("{}'{}' {:.1f}", ticks.empty() ? "" : ", ", label, y);
    figure.data += fmt::format("{:.1f} {:.2f} {} \"{:.{}f} %\"\n", y, drawn, colour, percent,
                               percent < 9.95 ? 1 : 0);
    y += 1;
  }
  figure.script = script_head(figure.id, 640, static_cast<int>(110 + 21 * y));
  std::string palette;
  for (std::size_t i = 0; i < 6; ++i)
    figure.script +=
        fmt::format("colour{} = {}\n", i, "0x" + std::string(series_colour(i).substr(1)));
  figure.script += fmt::format(
      "set yrange [{0:.1f}:-1]\nset ytics ({1})\nset xrange [0:{2:.0f}]\n"
      "set xtics 0,25\nset format x '%g %%'\nset border 0\nset grid noy\nset tics scale 0\n"
      "set lmargin {3}\nset rmargin 2\nset tmargin 1\nunset key\n"
      "set xlabel 'share of the limit'\n"
      "set arrow from 100,graph 0 to 100,graph 1 nohead lw 2 lc rgb '#000000' front\n"
      "pick(i) = i%6==0 ? colour0 : i%6==1 ? colour1 : i%6==2 ? colour2 : i%6==3 ? colour3 : "
      "i%6==4 ? colour4 : colour5\n"
      "plot data using ($2/2):1:($2/2):(0.36):(pick(int($3))) with boxxyerror fs solid noborder "
      "lc rgb variable, \\\n"
      "     data using ({4:.1f}):1:4 with labels left\n",
      y, ticks, widest * 1.16, static_cast<int>(0.86 * static_cast<double>(longest)) + 2,
      widest * 1.025);
  return figure;
}

}  // namespace tabane::lab
