// Everything around a measurement that can change its result, as far as it can be read without
// rights.
#pragma once

#include <string>
#include <vector>

#include "tabane/core/topology.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// Describes the machine for Record::machine. cost: reads /proc and /sys.
Json describe_machine(const core::Topology& topology);

// Reads the environment as groups of readable names: processor, memory, kernel, process, software,
// time. What cannot be read is null. root: prefix of /proc and /sys, for tests with recorded
// machines.
Json read_environment(const std::string& root = "");

// Warnings about the map of the machine itself. Every record of this machine begins with them.
std::vector<Warning> topology_warnings(const core::Topology& topology);

// Warnings that follow from the environment alone, before anything is measured. own_tasks: how many
// of those that ran at the start are not others': this program, and the ranks beside it.
std::vector<Warning> environment_warnings(const Json& environment, const core::Topology& topology,
                                          int own_tasks = 1);

// Warnings that follow from what was measured: PUs slower than others, drift, outliers, bimodal
// series. Of points of a study only where more than a third scatter.
std::vector<Warning> measurement_warnings(const Record& record);

// Three sentences in plain words: what the machine is good at, what limits it, what looks wrong.
std::vector<std::string> sentences(const Record& record);

}  // namespace tabane::lab
