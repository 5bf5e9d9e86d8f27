// Sections of the page that are tables: each as HTML, empty if the record has nothing for it.
#pragma once

#include <string>

#include "tabane/lab/record/record.h"

namespace tabane::lab {

std::string comparisons_section(const Record& record);
std::string results_section(const Record& record);
std::string skipped_section(const Record& record);
std::string environment_section(const Record& record);
std::string checklist_section(const Record& record);
std::string reproduce_section(const Record& record, bool has_figures);

// A bar that is filled to a share, 0…1. kind: "bar" on a line of its own, "share" inside text.
std::string share_bar(double share, const char* kind);

}  // namespace tabane::lab
