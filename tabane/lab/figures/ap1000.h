// The figures of the study ap1000, from the tables of its record.
#pragma once

#include <vector>

#include "tabane/lab/report.h"

namespace tabane::lab {

// Time and bandwidth of a ping-pong over size with the fitted lines; broadcast, global functions
// and barrier over ranks; vector sums, gather and scatter over size. Leaves out what the record
// lacks.
std::vector<Figure> make_ap1000_figures(const SurveyRecord& record);

}  // namespace tabane::lab
