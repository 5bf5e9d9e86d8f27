// The figures of the study process-thread, from the tables of its record.
#pragma once

#include <vector>

#include "tabane/lab/report.h"

namespace tabane::lab {

// The cost of forks over memory; for each workload speed-up and efficiency over workers with the
// fitted law, and processes × threads with the chosen ones marked. Leaves out what the record
// lacks.
std::vector<Figure> make_process_thread_figures(const SurveyRecord& record);

}  // namespace tabane::lab
