// What `tabane time` was asked for: commands, each with its parameters and its way to run, made
// ready before anything starts.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/record/points.h"

namespace tabane::program {

struct TimeRequest {
  std::vector<std::string> commands, names;  // names: none, or of the first commands
  // None, one for all, or one for each command.
  std::vector<std::string> setup, prepare, conclude, cleanup;
  std::vector<std::tuple<std::string, std::string, std::string>> scans;  // name, first, last
  std::vector<std::pair<std::string, std::string>> lists;                // name, values
  std::string step = "1";
  std::vector<std::string> with;  // "tag: options of tabane run"
  std::string shell = "default";
  std::string input = "null", output = "null";
};

// A command before or after those that are timed; empty: there is none.
struct AroundCommand {
  std::string option, line;  // "--prepare"
  lab::ChildCommand command;
};

struct TimedCommand {
  std::string name;      // unique
  lab::Factors factors;  // unique
  lab::ChildCommand command;
  AroundCommand setup, prepare, conclude, cleanup;
};

struct TimePlan {
  std::vector<TimedCommand> commands;
  std::vector<std::string> warnings;  // of placement
  bool shell = false;                 // reads the commands
  lab::ChildCommand empty_shell;      // that does nothing
};

// throws: core::UsageError that names the option.
TimePlan plan_time(const TimeRequest& request, const core::Topology& topology);

}  // namespace tabane::program
