// What is shown of commands measured in turn: a record with its table, charts and sentences, and
// the formats that users of hyperfine read with their own scripts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"
#include "tabane/tools/time/time.h"

namespace tabane::lab {

struct TimedWith {
  std::string command_line;  // of tabane
  // What the shell alone takes; null: it was not measured, or no shell reads the commands.
  std::optional<double> shell_seconds;
};

// A record of kind study. timings: with at least one round.
Record time_record(const core::Topology& topology, const std::vector<TimeContender>& contenders,
                   const TimeEffort& effort, const Timings& timings, const TimedWith& with);

// "'sort b' takes 1.42 [1.38, 1.47] times as long as 'sort a'."
std::string ratio_sentence(const std::string& name, const std::string& first,
                           const core::Ratio& ratio);

// Adds ratios, runs in their order, distributions, what was known after each round, and times over
// each parameter that is a number.
void add_time_charts(Record& record, const std::vector<TimeContender>& contenders,
                     const TimeEffort& effort, const Timings& timings);

// hyperfine's JSON: {"results": [{"command", "mean", "stddev", "median", "user", "system", "min",
// "max", "times", "exit_codes", "parameters"}]}, seconds; beside them "median_interval", "ratio" to
// the first, "ratio_interval", "memory_usage_byte", "context_switches", "page_faults", "rounds".
std::string export_json(const std::vector<TimeContender>& contenders, const Timings& timings);

// hyperfine's columns, a column "parameter_NAME" for each factor, and those of export_json().
std::string export_csv(const std::vector<TimeContender>& contenders, const Timings& timings);

// A table of medians and ratios with their intervals.
enum class Markup { markdown, asciidoc, orgmode };
std::string export_table(const std::vector<TimeContender>& contenders, const Timings& timings,
                         Markup markup);

}  // namespace tabane::lab
