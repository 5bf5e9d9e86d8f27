// Timings in the formats that users of hyperfine read with their own scripts.
#pragma once

#include <string>
#include <vector>

#include "tabane/tools/time/time.h"

namespace tabane::lab {

// hyperfine's JSON: {"results": [{"command", "mean", "stddev", "median", "user", "system", "min",
// "max", "times", "exit_codes", "parameters"}]}, seconds; beside them "median_interval", "ratio" to
// the first, "ratio_interval", "memory_usage_byte", "context_switches", "page_faults", "rounds".
std::string export_json(const std::vector<TimeContender>& contenders, const Timings& timings);

// hyperfine's columns, a column "parameter_NAME" for each factor, and those of export_json().
std::string export_csv(const std::vector<TimeContender>& contenders, const Timings& timings);

// A table of medians and ratios with their intervals.
std::string export_markdown(const std::vector<TimeContender>& contenders, const Timings& timings);

}  // namespace tabane::lab
