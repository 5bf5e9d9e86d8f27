#include "tabane/lab/page/report.h"

#include <algorithm>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_path.h"
#include "tabane/lab/page/gnuplot.h"

namespace tabane::lab {
namespace {

bool is_stem(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Takes away the figures of the report that is here: they would pass for those of the new one.
void remove_figures(const std::filesystem::path& directory) {
  if (!std::filesystem::exists(directory / "report.html")) return;
  const std::string page = core::read_file(directory / "report.html");
  const bool ours = page.find("<script type=\"application/json\" id=") != std::string::npos;
  const std::string open = "<figure id=\"";
  for (auto at = page.find(open); ours && at != std::string::npos; at = page.find(open, at + 1)) {
    const auto begin = at + open.size();
    const std::string stem = page.substr(begin, page.find('"', begin) - begin);
    std::error_code ignored;
    for (const char* extension : {".gp", ".dat", ".svg"})
      if (is_stem(stem)) std::filesystem::remove(directory / (stem + extension), ignored);
  }
}

}  // namespace

std::optional<std::string> draw(std::vector<Figure>& figures) {
  std::optional<std::string> remark;
  for (auto& figure : figures) {
    Drawing drawing = run_gnuplot(figure.id, figure.script, figure.data);
    figure.svg = std::move(drawing.svg);
    if (drawing.missing)
      return "The report has tables but no drawings: gnuplot is not installed (Debian: "
             "gnuplot-nox).";
    // What hangs once would hang for every figure.
    if (drawing.hangs) return "Figures were not drawn: " + drawing.error;
    if (!drawing.error.empty() && !remark) remark = "A figure was not drawn: " + drawing.error;
  }
  return remark;
}

std::optional<std::string> write_report(const Record& record,
                                        const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw core::SystemError("mkdir", directory.string(), failed.value());
  auto figures = make_figures(record);
  auto remark = draw(figures);
  remove_figures(directory);
  for (const auto& figure : figures) {
    core::write_output(directory / (figure.id + ".gp"), figure.script);
    core::write_output(directory / (figure.id + ".dat"), figure.data);
    if (!figure.svg.empty()) core::write_output(directory / (figure.id + ".svg"), figure.svg);
  }
  core::write_output(directory / "report.html", render_html(record, figures));
  return remark;
}

}  // namespace tabane::lab
