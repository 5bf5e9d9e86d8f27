// What is told of commands measured in turn: a record with its table, charts and sentences.
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

}  // namespace tabane::lab
