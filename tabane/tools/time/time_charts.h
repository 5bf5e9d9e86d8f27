// Charts of commands measured in turn.
#pragma once

#include <vector>

#include "tabane/lab/record/record.h"
#include "tabane/tools/time/time.h"

namespace tabane::lab {

// Adds ratios, runs in their order, distributions, what was known after each round, and times over
// each parameter that is a number.
void add_time_charts(Record& record, const std::vector<TimeContender>& contenders,
                     const TimeEffort& effort, const Timings& timings);

}  // namespace tabane::lab
