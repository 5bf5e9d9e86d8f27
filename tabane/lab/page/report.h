// The page of a record: one self-contained HTML file, and every figure as SVG with its gnuplot
// script and data.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// The page. Opens offline, light and dark, prints well; nothing is loaded from elsewhere.
std::string render_html(const Record& record, const std::vector<Figure>& figures);

// Writes report.html and the figures' .svg, .gp, .dat into directory (made if missing), in place of
// those of the report that is there. In gnuplot.cc, with what else writes files.
// Returns a remark for the user (figures left out because of gnuplot), or null.
// throws: core::SystemError naming the file that cannot be written.
std::optional<std::string> write_report(const Record& record,
                                        const std::filesystem::path& directory);

struct Drawing {
  std::string svg;       // empty: not drawn
  std::string narrow;    // the same for phones
  std::string error;     // why not, in one sentence
  bool missing = false;  // the program itself is not there
  bool hangs = false;    // it was killed, because it did not end in time
};

// Runs the script STEM.gp, which reads STEM.dat and writes STEM.svg and, if it likes,
// STEM.narrow.svg, in a temporary directory that is removed again. program: looked up in PATH.
// limit: a program that runs longer is killed.
Drawing run_gnuplot(const std::string& stem, const std::string& script, const std::string& data,
                    const std::string& program = "gnuplot",
                    std::chrono::milliseconds limit = std::chrono::seconds(60));

// ---- parts of the page ----

// Sections that are tables: each as HTML, empty if the record has nothing for it.
std::string comparisons_section(const Record& record);
std::string results_section(const Record& record);
std::string skipped_section(const Record& record);
std::string environment_section(const Record& record);
std::string checklist_section(const Record& record);
std::string reproduce_section(const Record& record, bool has_figures);

// Returns the drawing as an svg element that scales with its container and takes its colours from
// the page: black becomes the colour of the text, the palette of plot.h becomes CSS variables
// with the printed colour as fallback, the background goes. Ids get `prefix`, so that several can
// share a page. title: for those who cannot see it. kind: "wide" or "narrow", where it is shown.
std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view title,
                       std::string_view kind);

// A bar that is filled to a share, 0…1. kind: "bar" on a line of its own, "share" inside text.
std::string share_bar(double share, const char* kind);

}  // namespace tabane::lab
