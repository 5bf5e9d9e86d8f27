// The page of a record: one self-contained HTML file, and every figure as SVG with its gnuplot
// script and data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// The page. Opens offline, light and dark, prints well; nothing is loaded from elsewhere.
std::string render_html(const Record& record, const std::vector<Figure>& figures);

// Writes report.html and the figures' .svg, .gp, .dat into directory (made if missing), in place of
// those of the report that is there.
// Returns a remark for the user (figures left out because of gnuplot), or null.
// throws: core::SystemError naming the file that cannot be written.
std::optional<std::string> write_report(const Record& record,
                                        const std::filesystem::path& directory);

}  // namespace tabane::lab
