#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/page/report.h"

namespace tabane::lab {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& text) {
  const auto begin = text.find_first_not_of("\r\n ");
  if (begin == std::string::npos) return "no message";
  return text.substr(begin, text.find('\n', begin) - begin);
}

Drawing draw_in(const fs::path& directory, const std::string& stem, const std::string& script,
                const std::string& data, const std::string& program,
                std::chrono::milliseconds limit) {
  core::write_file(directory / (stem + ".gp"), script);
  core::write_file(directory / (stem + ".dat"), data);
  ChildRun run;
  try {
    // -d: without settings of the user.
    run = run_child({.arguments = {program, "-d", stem + ".gp"}, .folder = directory.string()},
                    {.timeout_seconds = std::chrono::duration<double>(limit).count()});
  } catch (const core::SystemError& error) {
    const bool missing = program_file(program).find('/') == std::string::npos;
    return {"", "", fmt::format("{} cannot be run: {}", program, std::strerror(error.code())),
            missing};
  }
  if (run.timed_out)
    return {"", "",
            fmt::format("{} did not end within {} s on {}.gp and was killed", program,
                        static_cast<double>(limit.count()) / 1000, stem),
            false, true};
  if (!run.ok())
    return {"", "", fmt::format("{} failed on {}.gp: {}", program, stem, first_line(run.errors)),
            false};
  const auto drawn = [&](const char* ending) {
    const fs::path file = directory / (stem + ending);
    std::string svg = fs::exists(file) ? core::read_file(file) : "";
    return svg.find("</svg>") == std::string::npos ? "" : svg;
  };
  Drawing drawing{drawn(".svg"), drawn(".narrow.svg"), ""};
  if (drawing.svg.empty()) drawing.error = fmt::format("{} wrote no {}.svg", program, stem);
  return drawing;
}

}  // namespace

Drawing run_gnuplot(const std::string& stem, const std::string& script, const std::string& data,
                    const std::string& program, std::chrono::milliseconds limit) {
  try {
    return draw_in(core::ScratchFolder("tabane-figure").path(), stem, script, data, program, limit);
  } catch (const core::SystemError& error) {
    return {"", "", fmt::format("gnuplot has no files to work on: {}", error.what()), false};
  }
}

namespace {

bool is_stem(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
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
    for (const char* extension : {".gp", ".dat", ".svg", ".narrow.svg"})
      if (is_stem(stem)) std::filesystem::remove(directory / (stem + extension), ignored);
  }
}

}  // namespace

std::optional<std::string> draw(std::vector<Figure>& figures) {
  std::optional<std::string> remark;
  for (auto& figure : figures) {
    Drawing drawing = run_gnuplot(figure.id, figure.script, figure.data);
    figure.svg = std::move(drawing.svg);
    figure.narrow_svg = std::move(drawing.narrow);
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
    for (const auto& [ending, svg] :
         {std::pair(".svg", figure.svg), std::pair(".narrow.svg", figure.narrow_svg)})
      if (!svg.empty()) core::write_output(directory / (figure.id + ending), svg);
  }
  core::write_output(directory / "report.html", render_html(record, figures));
  return remark;
}

}  // namespace tabane::lab
