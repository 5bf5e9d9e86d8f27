// The survey's page: one self-contained HTML file, and every figure as SVG with its gnuplot script
// and data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/record.h"

namespace tabane::lab {

struct Figure {
  std::string id;  // file stem: "roofline"
  std::string title;
  std::string caption;          // reads the figure aloud, with its numbers
  std::string script;           // gnuplot; reads id.dat, writes id.svg
  std::string data;             // the text of id.dat
  std::string svg;              // empty if gnuplot is missing or failed
  std::string data_table_html;  // the same data as an HTML table
};

// The figures for which the record has data, in the order of the page.
std::vector<Figure> make_figures(const SurveyRecord& record);

// Runs gnuplot on each figure to fill svg. Returns why not, if gnuplot is missing or fails.
std::optional<std::string> draw(std::vector<Figure>& figures);

// The page. Opens offline, light and dark, prints well; nothing is loaded from elsewhere.
std::string render_html(const SurveyRecord& record, const std::vector<Figure>& figures);

// Writes report.html and the figures' .svg, .gp, .dat into directory (made if missing).
// Returns a remark for the user (figures left out because of gnuplot), or null.
// throws: core::SystemError naming the file that cannot be written.
std::optional<std::string> write_report(const SurveyRecord& record,
                                        const std::filesystem::path& directory);

// The twelve rules of Hoefler and Belli, filled in from the record.
std::vector<ChecklistRow> fill_checklist(const SurveyRecord& record);

}  // namespace tabane::lab
