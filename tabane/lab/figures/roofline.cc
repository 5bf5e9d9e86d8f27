#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tabane/lab/figures/figures.h"

namespace tabane::lab {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"l1", "l2", "l3", "dram"};
constexpr std::array<std::string_view, 4> kLevelNames = {"L1", "L2", "L3", "DRAM"};

struct Roof {
  std::size_t level;
  double bandwidth;  // B/s
};

struct Point {
  std::string kernel;
  std::size_t level;
  double intensity;  // FLOP/B
  double rate;       // FLOP/s
};

std::vector<Roof> find_roofs(const SurveyRecord& record) {
  std::vector<Roof> roofs;
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    const Result* result = record.find(fmt::format("memory.bandwidth.read.{}.core", kLevels[i]));
    if (result != nullptr && result->value && *result->value > 0)
      roofs.push_back({i, *result->value});
  }
  return roofs;
}

double parameter(const Result& result, const char* key) {
  const auto it = result.parameters.find(key);
  return it != result.parameters.end() && it->is_number() ? it->get<double>() : 0;
}

std::vector<Point> find_points(const SurveyRecord& record) {
  std::vector<Point> points;
  for (const auto& result : record.results) {
    if (!result.name.starts_with("simd.") || result.unit != "FLOP/s" || !result.value) continue;
    const auto dot = result.name.rfind('.');
    const auto level = std::find(kLevels.begin(), kLevels.end(), result.name.substr(dot + 1));
    const double flops = parameter(result, "flops_per_element");
    const double bytes = parameter(result, "bytes_per_element");
    if (level == kLevels.end() || dot <= 5 || !(flops > 0 && bytes > 0 && *result.value > 0))
      continue;
    points.push_back({result.name.substr(5, dot - 5),
                      static_cast<std::size_t>(level - kLevels.begin()), flops / bytes,
                      *result.value});
  }
  return points;
}

std::string roofs_table(const std::vector<Roof>& roofs, double peak,
                        const std::vector<Point>& points) {
  std::string out =
      "<table><thead><tr><th>roof</th><th>measured</th><th>ridge <small>FLOP/B</small></th></tr>"
      "</thead><tbody>";
  for (const auto& roof : roofs)
    out += fmt::format("<tr><th>{} read</th><td class=n>{}</td><td class=n>{:.3g}</td></tr>",
                       kLevelNames[roof.level], show(roof.bandwidth, "B/s"), peak / roof.bandwidth);
  out += fmt::format(
      "<tr><th>FMA peak</th><td class=n>{}</td><td class=none>–</td></tr></tbody></table>",
      show(peak, "FLOP/s"));
  if (points.empty()) return out;
  out +=
      "<table><thead><tr><th>kernel</th><th>data in</th><th>intensity <small>FLOP/B</small></th>"
      "<th>measured</th></tr></thead><tbody>";
  for (const auto& p : points)
    out += fmt::format("<tr><th>{}</th><td>{}</td><td class=n>{:.3g}</td><td class=n>{}</td></tr>",
                       escape_html(p.kernel), kLevelNames[p.level], p.intensity,
                       show(p.rate, "FLOP/s"));
  return out + "</tbody></table>";
}

std::string caption(const std::vector<Roof>& roofs, double peak, const std::vector<Point>& points) {
  const Roof& far = roofs.back();
  std::string text = fmt::format(
      "One core computes at most {} and reads {} from {}: below {:.3g} FLOP per byte it is {} that "
      "decides, above it the arithmetic.",
      show(peak, "FLOP/s"), show(far.bandwidth, "B/s"), kLevelNames[far.level],
      peak / far.bandwidth, kLevelNames[far.level]);
  if (roofs.size() > 1) {
    const Roof& near = roofs.front();
    text +=
        fmt::format(" With data in {} ({}) the ridge is at {:.3g} FLOP per byte.",
                    kLevelNames[near.level], show(near.bandwidth, "B/s"), peak / near.bandwidth);
  }
  if (!points.empty()) {
    const auto best =
        std::max_element(points.begin(), points.end(),
                         [](const Point& a, const Point& b) { return a.rate < b.rate; });
    text += fmt::format(" The fastest kernel, {} in {}, runs at {}, {} of the peak.", best->kernel,
                        kLevelNames[best->level], show(best->rate, "FLOP/s"),
                        show_percent(best->rate / peak));
  }
  return text + " All roofs are measured on this machine.";
}

// Kernels get a point type each; shapes that gnuplot draws in the colour of the level.
int point_type(std::size_t kernel) {
  static constexpr std::array<int, 7> kTypes = {7, 5, 9, 13, 11, 15, 4};
  return kTypes[kernel % kTypes.size()];
}

}  // namespace

std::optional<Figure> roofline_figure(const SurveyRecord& record) {
  const auto roofs = find_roofs(record);
  const Result* fma = record.find("peak.fma.core");
  if (roofs.empty() || fma == nullptr || !fma->value || !(*fma->value > 0)) return std::nullopt;
  const double peak = *fma->value;
  const auto points = find_points(record);
  Figure figure{.id = "roofline",
                .title = "Roofline of one core",
                .caption = caption(roofs, peak, points),
                .script = "",
                .data = "",
                .svg = "",
                .data_table_html = roofs_table(roofs, peak, points)};

  double left = 1.0 / 16, right = 2 * peak / roofs.back().bandwidth, bottom = peak;
  for (const auto& p : points) left = std::min(left, p.intensity / 2);
  right = std::max(right, 16 * left);
  for (const auto& roof : roofs) bottom = std::min(bottom, left * roof.bandwidth);
  for (const auto& p : points) bottom = std::min(bottom, p.rate / 1.5);

  std::string plots;
  int block = 0;
  const auto add = [&](const std::string& rows, const std::string& style) {
    figure.data += rows + "\n\n";
    plots += fmt::format("{} data index {} using 1:2 {}", plots.empty() ? "plot" : ", \\\n    ",
                         block++, style);
  };
  for (const auto& roof : roofs) {
    const double ridge = peak / roof.bandwidth;
    add(fmt::format("# {} roof: FLOP/B, GFLOP/s\n{:.6g} {:.6g}\n{:.6g} {:.6g}\n",
                    kLevelNames[roof.level], left, left * roof.bandwidth * 1e-9, ridge,
                    peak * 1e-9),
        fmt::format("with lines lw 2.2 lc rgb '{}' title '{} {}'", series_colour(roof.level),
                    kLevelNames[roof.level], show(roof.bandwidth, "B/s")));
  }
  const double first_ridge = peak / roofs.front().bandwidth;
  double lowest_ridge = first_ridge;
  for (const auto& roof : roofs) lowest_ridge = std::min(lowest_ridge, peak / roof.bandwidth);
  add(fmt::format("# FMA peak: FLOP/B, GFLOP/s\n{:.6g} {:.6g}\n{:.6g} {:.6g}\n", lowest_ridge,
                  peak * 1e-9, right, peak * 1e-9),
      fmt::format("with lines lw 2.2 lc rgb '#000000' title 'FMA {}'", show(peak, "FLOP/s")));

  std::vector<std::string> kernels;
  for (const auto& p : points)
    if (std::find(kernels.begin(), kernels.end(), p.kernel) == kernels.end())
      kernels.push_back(p.kernel);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    for (std::size_t level = 0; level < kLevels.size(); ++level) {
      std::string rows;
      for (const auto& p : points)
        if (p.kernel == kernels[k] && p.level == level)
          rows += fmt::format("{:.6g} {:.6g}\n", p.intensity, p.rate * 1e-9);
      if (rows.empty()) continue;
      add(fmt::format("# {} in {}: FLOP/B, GFLOP/s\n", plot_label(kernels[k]), kLevelNames[level]) +
              rows,
          fmt::format("with points pt {} ps 0.9 lc rgb '{}' notitle", point_type(k),
                      series_colour(level)));
    }
    plots += fmt::format(", \\\n     NaN with points pt {} ps 0.9 lc rgb '{}' title '{}'",
                         point_type(k), kAxisColour, plot_label(kernels[k], 20));
  }

  figure.script = script_head(figure.id, 640, 460) + decade_ticks("x", left, right) +
                  decade_ticks("y", bottom * 0.8e-9, peak * 1.6e-9);
  figure.script += fmt::format(
      "set xlabel 'arithmetic intensity, FLOP per byte'\nset ylabel 'GFLOP/s'\n"
      "set key above left Left reverse maxrows 5\n"
      "set arrow from {:.6g}, graph 0 to {:.6g}, {:.6g} nohead dt 2 lw 1.2 lc rgb '{}'\n"
      "set label '{} ridge {:.3g}' at {:.6g}, graph 0.035 right offset character -0.5,0 textcolor "
      "rgb '{}'\n",
      peak / roofs.back().bandwidth, peak / roofs.back().bandwidth, peak * 1e-9, kMarkColour,
      kLevelNames[roofs.back().level], peak / roofs.back().bandwidth, peak / roofs.back().bandwidth,
      kAxisColour);
  figure.script += plots + "\n";
  return figure;
}

}  // namespace tabane::lab
