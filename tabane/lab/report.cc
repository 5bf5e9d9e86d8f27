#include "tabane/lab/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/lab/figures/figures.h"
#include "tabane/lab/gnuplot.h"

namespace tabane::lab {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw core::SystemError("write", path.string(), errno != 0 ? errno : EIO);
}

}  // namespace

std::vector<Figure> make_figures(const SurveyRecord& record) {
  std::vector<Figure> figures;
  const auto add = [&](std::optional<Figure> figure) {
    if (figure) figures.push_back(*std::move(figure));
  };
  add(share_of_limit_figure(record));
  add(roofline_figure(record));
  add(memory_latency_figure(record));
  add(memory_bandwidth_figure(record));
  add(bandwidth_cores_figure(record));
  add(memcpy_figure(record));
  add(core_to_core_figure(record));
  for (auto& figure : numa_figures(record)) add(std::move(figure));
  add(ladder_figure(record));
  add(core_rate_figure(record));
  add(fork_cost_figure(record));
  return figures;
}

std::optional<std::string> draw(std::vector<Figure>& figures) {
  std::optional<std::string> remark;
  for (auto& figure : figures) {
    Drawing drawing = run_gnuplot(figure.id, figure.script, figure.data);
    figure.svg = std::move(drawing.svg);
    if (drawing.missing)
      return "The report has tables but no drawings: gnuplot is not installed (Debian: "
             "gnuplot-nox).";
    if (!drawing.error.empty() && !remark) remark = "A figure was not drawn: " + drawing.error;
  }
  return remark;
}

namespace {

// Takes away the figures that an earlier survey left here: they would pass for those of this one.
void remove_figures(const std::filesystem::path& directory) {
  std::error_code ignored;
  for (std::string_view id : kFigureIds) {
    for (const char* extension : {".gp", ".dat", ".svg"}) {
      std::filesystem::remove(directory / (std::string(id) + extension), ignored);
    }
  }
}

}  // namespace

std::optional<std::string> write_report(const SurveyRecord& record,
                                        const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw core::SystemError("mkdir", directory.string(), failed.value());
  auto figures = make_figures(record);
  auto remark = draw(figures);
  remove_figures(directory);
  for (const auto& figure : figures) {
    write_text(directory / (figure.id + ".gp"), figure.script);
    write_text(directory / (figure.id + ".dat"), figure.data);
    if (!figure.svg.empty()) write_text(directory / (figure.id + ".svg"), figure.svg);
  }
  write_text(directory / "report.html", render_html(record, figures));
  return remark;
}

}  // namespace tabane::lab
