// The figures of the study aes-folder, from the tables of its record.
#pragma once

#include <vector>

#include "tabane/lab/report.h"

namespace tabane::lab {

// For each number of files: threads × size for the report's program and for tabane, and the time
// against that of copying; then the runs in the order of time. Leaves out what the record lacks.
std::vector<Figure> make_aes_folder_figures(const SurveyRecord& record);

}  // namespace tabane::lab
